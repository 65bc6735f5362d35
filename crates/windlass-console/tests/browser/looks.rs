//! The page at three widths and in both themes: nothing sticks out, everything can be read, every control
//! has a name.

use std::time::Duration;

use serde_json::{Value, json};
use windlass::monitor::Thresholds;
use windlass::prelude::*;

use crate::driver::browse;
use crate::fixture::{Fixture, Load, TOKEN};
use crate::page::Page;

const WIDTHS: [u32; 3] = [360, 800, 1340];

/// The names of elements that stick out to the right, except in what can be scrolled.
const STICKING_OUT: &str = "
    [document.documentElement, ...document.querySelectorAll('body *')]
        .filter((node) => node.checkVisibility() && !node.closest('.scroller *, .sr-only, .u-cursor-x, .uplot *'))
        .filter((node) => node.getBoundingClientRect().right > innerWidth + 1
            || (node === document.documentElement && node.scrollWidth > innerWidth))
        .map((node) => `${node.tagName}.${node.className} ${node.getBoundingClientRect().right}`)";

/// The notes of figures that end before their text does.
const CUT_OFF: &str = "
    [...document.querySelectorAll('.tile__note')]
        .filter((node) => node.scrollWidth > node.clientWidth)
        .map((node) => node.textContent)";

/// The texts whose contrast with what is behind them is below what WCAG 2 asks for (AA).
const ILLEGIBLE: &str = "(() => {
    const context = document.createElement('canvas').getContext('2d', { willReadFrequently: true });
    const seen = new Map();
    const rgba = (colour) => {
        if (!seen.has(colour)) {
            context.clearRect(0, 0, 1, 1);
            context.fillStyle = colour;
            context.fillRect(0, 0, 1, 1);
            seen.set(colour, [...context.getImageData(0, 0, 1, 1).data]);
        }
        return seen.get(colour);
    };
    const over = ([r, g, b, a], below) => [r, g, b].map((part, i) => (part * a + below[i] * (255 - a)) / 255);
    const behind = (node) => {
        if (node === null) return [255, 255, 255];
        const colour = rgba(getComputedStyle(node).backgroundColor);
        return colour[3] === 255 ? colour.slice(0, 3) : over(colour, behind(node.parentElement));
    };
    const opacity = (node) => node === null ? 1 : Number(getComputedStyle(node).opacity) * opacity(node.parentElement);
    const luminance = (colour) => {
        const [r, g, b] = colour.map((part) => part / 255)
            .map((part) => part <= .04045 ? part / 12.92 : ((part + .055) / 1.055) ** 2.4);
        return .2126 * r + .7152 * g + .0722 * b;
    };
    const found = [];
    for (const node of document.querySelectorAll('body *')) {
        const hasText = [...node.childNodes].some((child) => child.nodeType === 3 && child.data.trim() !== '');
        if (!hasText || !node.checkVisibility() || node.closest('.sr-only, noscript, option')) continue;
        const back = behind(node);
        const style = getComputedStyle(node);
        const [r, g, b, a] = rgba(style.color);
        const fore = over([r, g, b, a * opacity(node)], back);
        const [dark, light] = [luminance(fore), luminance(back)].sort((one, other) => one - other);
        const contrast = (light + .05) / (dark + .05);
        const isLarge = parseFloat(style.fontSize) >= 24
            || (parseFloat(style.fontSize) >= 18.66 && Number(style.fontWeight) >= 700);
        if (contrast < (isLarge ? 3 : 4.5)) found.push(`${node.className}: ${node.textContent} ${contrast.toFixed(2)}`);
    }
    return found;
})()";

/// Notes the labels that are drawn on a canvas, with where they end.
const NOTE_LABELS: &str = "
    const { fillText } = CanvasRenderingContext2D.prototype;
    CanvasRenderingContext2D.prototype.fillText = function (text, x, y) {
        const chart = this.canvas.closest('[data-chart]')?.dataset.chart;
        if (chart !== undefined) {
            const reach = this.measureText(text).width / (this.textAlign === 'center' ? 2 : 1);
            const end = this.textAlign === 'right' ? x : x + reach;
            window.labels ??= [];
            window.labels.push({ chart, text, isCut: end > this.canvas.width + 1 });
        }
        return fillText.call(this, text, x, y);
    };";

async fn assert_nothing_found(page: &Page, what: &str, expression: &str) {
    let found = page.value(expression).await;
    assert_eq!(found, json!([]), "{what}");
}

/// Looks at a view at each width and in each theme.
async fn look(page: &Page, address: &str, drawn: &str) {
    for width in WIDTHS {
        page.resize((width, 900), 1.0).await;
        for theme in ["light", "dark"] {
            page.prefer(theme).await;
            page.open("about:blank").await;
            page.open(address).await;
            page.until("it is drawn", drawn).await;
            let view = format!("{address} at {width} px in the {theme} theme");
            assert_nothing_found(page, &format!("sticks out: {view}"), STICKING_OUT).await;
            assert_nothing_found(page, &format!("cut off: {view}"), CUT_OFF).await;
            assert_nothing_found(page, &format!("illegible: {view}"), ILLEGIBLE).await;
        }
    }
}

/// Pools of each kind, with alerts and tasks that fail.
struct Scene {
    fixture: Fixture,
    web: ThreadPoolExecutor,
    timer: ScheduledThreadPoolExecutor,
    forks: ForkJoinPool,
    _load: Load,
}

impl Scene {
    fn new() -> Self {
        let fixture = Fixture::new();
        let web = fixture.pool("web-frontend-with-a-rather-long-name", 2);
        let timer = ScheduledThreadPoolExecutor::builder()
            .name("timer")
            .core_pool_size(2)
            .build();
        let forks = ForkJoinPool::builder()
            .name("forks")
            .parallelism(2)
            .build()
            .unwrap();
        fixture.registry.register(&timer);
        fixture.registry.register(&forks);
        let second = Duration::from_secs(1);
        // Without its handle, the task ends with its executor.
        drop(
            timer
                .task()
                .name("tick")
                .schedule_at_fixed_rate(second / 10, second / 10, || ()),
        );
        let mut thresholds = Thresholds::default();
        thresholds.queue_age = second / 10;
        assert!(fixture.monitor.set_thresholds(Self::WEB, thresholds));
        let failing = web.task().name("GET /a/path/of/some/length/that/fails");
        drop(failing.execute(|| panic!("as it should")));
        // More than it can do.
        let load = Load::on(std::slice::from_ref(&web), 20);
        Self {
            fixture,
            web,
            timer,
            forks,
            _load: load,
        }
    }

    const WEB: &str = "web-frontend-with-a-rather-long-name";
}

impl Drop for Scene {
    fn drop(&mut self) {
        self.web.shutdown_now();
        self.timer.shutdown_now();
        self.forks.shutdown_now();
    }
}

const CHARTS: &str = "document.querySelector('[data-chart=threads] canvas').checkVisibility()
    && document.querySelector('.tile__value').textContent !== ''";

#[test]
fn all_pools_fit_and_can_be_read_at_each_width_in_both_themes() {
    browse(async |page| {
        let scene = Scene::new();
        let address = scene.fixture.url("");
        let cards = "document.querySelectorAll('.card').length === 3
            && document.querySelector('.chip[data-state=alert]').checkVisibility()";
        look(&page, &address, cards).await;
        page.click("[data-layout=table]").await;
        let rows = "document.querySelectorAll('tr[data-pool]').length === 3
            && document.querySelector('.chip[data-state=alert]').checkVisibility()";
        look(&page, &address, rows).await;
        page.assert_clean().await;
    });
}

#[test]
fn one_pool_of_each_kind_fits_and_can_be_read_at_each_width_in_both_themes() {
    browse(async |page| {
        let scene = Scene::new();
        for name in [Scene::WEB, "timer", "forks"] {
            let address = scene.fixture.url(&format!("pool/{name}"));
            look(&page, &address, CHARTS).await;
        }
        page.assert_clean().await;
    });
}

#[test]
fn figures_that_stand_still_can_be_read() {
    browse(async |page| {
        let mut scene = Scene::new();
        page.prefer("light").await;
        page.open(&scene.fixture.url("")).await;
        page.until_shown("[data-pool=timer]").await;
        let _address = scene.fixture.stop();
        page.until_shown("#banner").await;
        assert_nothing_found(&page, "illegible", ILLEGIBLE).await;
    });
}

#[test]
fn every_chart_has_labels_of_the_time_at_each_width() {
    browse(async |page| {
        let scene = Scene::new();
        page.run_first(NOTE_LABELS).await;
        for width in WIDTHS {
            // High enough for all charts to be in sight, and so to be drawn.
            page.resize((width, 3_000), 1.0).await;
            page.open("about:blank").await;
            page.open(&scene.fixture.url(&format!("pool/{}", Scene::WEB)))
                .await;
            for range in [86_400, 900, 300, 60] {
                page.run("window.labels = [];").await;
                page.click(&format!("[data-seconds='{range}']")).await;
                let times =
                    "window.labels.filter(({ text }) => /^\\d\\d:\\d\\d(:\\d\\d)?$/.test(text))";
                page.until(
                    &format!("labels of {range} s at {width} px"),
                    &format!(
                        "['threads', 'queue', 'rates'].every((name) =>
                            new Set({times}.filter(({{ chart }}) => chart === name).map(({{ text }}) => text)).size >= 2)"
                    ),
                )
                .await;
                assert_nothing_found(
                    &page,
                    "cut off",
                    &format!("{times}.filter(({{ isCut }}) => isCut)"),
                )
                .await;
            }
            // The maximum of the pool is four threads.
            page.until(
                "round labels up to the maximum",
                "['0', '1', '2', '3', '4'].every((wanted) =>
                    window.labels.some(({ chart, text }) => chart === 'threads' && text === wanted))",
            )
            .await;
        }
        page.assert_clean().await;
    });
}

#[test]
fn every_control_has_a_name() {
    browse(async |page| {
        let scene = Scene::new();
        for view in [
            String::new(),
            format!("pool/{}", Scene::WEB),
            "pool/timer".to_owned(),
            "pool/forks".to_owned(),
        ] {
            page.open(&scene.fixture.url(&view)).await;
            page.until_shown("main h1, main h2").await;
            page.until(
                "figures",
                "document.querySelector('.tile__value').textContent !== ''",
            )
            .await;
            page.run(
                "document.querySelectorAll('details').forEach((each) => { each.open = true; });",
            )
            .await;
            assert_named(&page, &view).await;
        }
        page.open(&scene.fixture.url(&format!("pool/{}", Scene::WEB)))
            .await;
        page.unlock(TOKEN).await;
        page.fill("#tune-core", "3").await;
        page.click(".tune button[type=submit]").await;
        page.until_shown("#apply").await;
        assert_named(&page, "preview").await;
        page.click_named("Pause").await;
        page.until_shown("dialog .button--danger").await;
        assert_named(&page, "dialog").await;
    });
}

/// Asserts that the browser tells assistive technology a name for each control.
async fn assert_named(page: &Page, view: &str) {
    const CONTROLS: [&str; 9] = [
        "button",
        "link",
        "textbox",
        "searchbox",
        "spinbutton",
        "combobox",
        "checkbox",
        "dialog",
        "image",
    ];
    page.devtools("Accessibility.enable", &json!({})).await;
    let tree = page
        .devtools("Accessibility.getFullAXTree", &json!({}))
        .await;
    let nodes = tree["nodes"].as_array().unwrap();
    let controls: Vec<&Value> = nodes
        .iter()
        .filter(|node| node["ignored"] == false)
        .filter(|node| CONTROLS.contains(&node["role"]["value"].as_str().unwrap_or_default()))
        .collect();
    assert!(
        controls.len() > 2,
        "{view}: the tree is not there: {}",
        controls.len()
    );
    let nameless: Vec<_> = controls
        .iter()
        .filter(|node| {
            node["name"]["value"]
                .as_str()
                .unwrap_or_default()
                .trim()
                .is_empty()
        })
        .collect();
    assert!(
        nameless.is_empty(),
        "{view}: controls without a name: {nameless:#?}"
    );
}
