//! The pictures of the guide. `scripts/console-pictures.sh` takes them and makes their files small.

use std::f64::consts::TAU;
use std::path::Path;
use std::time::Duration;
use std::{env, fs};

use windlass::forkjoin::join;
use windlass::interrupt;
use windlass::monitor::Registry;
use windlass::prelude::*;
use windlass::queue::ResizableBlockingQueue;

use crate::driver::browse;
use crate::fixture::{Fixture, TOKEN};
use crate::page::Page;
use crate::tune_core;

/// How often load is made, and in how many of these beats it rises and falls.
const BEAT: Duration = Duration::from_millis(50);
const SWING: u32 = 800;

/// A host that is nobody's, in place of the machine that takes the pictures.
const NEUTRAL_HOST: &str = "
    import('./assets/state.js').then(({ on, state, emit }) => {
        const rename = () => { state.meta.host = 'shop-1'; state.meta.pid = 4711; };
        on('hello', rename);
        if (state.meta !== null) { rename(); emit('pools'); }
    });";

/// The pools of a shop under a load that rises and falls.
struct Shop {
    pools: [ThreadPoolExecutor; 3],
    timer: ScheduledThreadPoolExecutor,
    forks: ForkJoinPool,
}

impl Shop {
    fn open(registry: &Registry) -> Self {
        let pool = |name: &str, core, max, capacity| {
            let pool = ThreadPoolExecutor::builder()
                .name(name)
                .core_pool_size(core)
                .maximum_pool_size(max)
                .work_queue(ResizableBlockingQueue::with_capacity(capacity).unwrap())
                .keep_alive(Duration::from_secs(5))
                .build()
                .unwrap();
            registry.register(&pool);
            pool
        };
        let pools = [
            pool("checkout", 4, 12, 200),
            pool("search", 2, 8, 500),
            pool("mail", 1, 2, 1_000),
        ];
        let timer = ScheduledThreadPoolExecutor::builder()
            .name("timer")
            .core_pool_size(2)
            .build();
        let forks = ForkJoinPool::builder()
            .name("reports")
            .parallelism(2)
            .build()
            .unwrap();
        registry.register(&timer);
        registry.register(&forks);
        Self {
            pools,
            timer,
            forks,
        }
        .under_load()
    }

    fn under_load(self) -> Self {
        let [checkout, search, mail] = self.pools.clone();
        let (mut beat, mut due) = (0_u32, 0.0);
        let customers = move || {
            beat += 1;
            // At the top, a little more than the threads of the checkout can do.
            due += 6.5 - 6.0 * (TAU * f64::from(beat) / f64::from(SWING)).cos();
            while due >= 1.0 {
                due -= 1.0;
                customer(&checkout, beat);
            }
            submit(&search, "search", 18);
            if beat.is_multiple_of(8) {
                submit(&mail, "send receipt", 60);
            }
        };
        let forks = self.forks.clone();
        let report = move || {
            // A pool that has been shut down takes no more.
            let _ = forks.execute(|| {
                std::hint::black_box(sum(0..300_000));
            });
        };
        let second = Duration::from_secs(1);
        let task = |name| self.timer.task().name(name);
        // Without their handles, the tasks end with their executor.
        drop((
            task("customers").schedule_at_fixed_rate(BEAT, BEAT, customers),
            task("sales report").schedule_at_fixed_rate(BEAT, 4 * BEAT, report),
            task("expire carts").schedule_with_fixed_delay(second, 5 * second, || work(120)),
            task("rotate keys").schedule(3_600 * second, || ()),
            task("refresh prices").schedule_at_fixed_rate(30 * second, 60 * second, || work(40)),
        ));
        self
    }
}

impl Drop for Shop {
    fn drop(&mut self) {
        self.timer.shutdown_now();
        self.forks.shutdown_now();
        for pool in &self.pools {
            pool.shutdown_now();
        }
    }
}

/// One customer, now and then one who takes long or whose payment fails.
fn customer(pool: &ThreadPoolExecutor, beat: u32) {
    match beat % 97 {
        13 => submit(pool, "POST /order", 900),
        29 => drop(
            pool.task()
                .name("POST /pay")
                .execute(|| panic!("card refused")),
        ),
        _ => submit(pool, "GET /cart", 45),
    }
}

fn submit(pool: &ThreadPoolExecutor, name: &'static str, milliseconds: u64) {
    // A full queue rejects, and the console shows it.
    drop(pool.task().name(name).execute(move || work(milliseconds)));
}

/// Waits as a task waits for a database.
fn work(milliseconds: u64) {
    let _ = interrupt::sleep(Duration::from_millis(milliseconds));
}

fn sum(range: std::ops::Range<u64>) -> u64 {
    let length = range.end - range.start;
    if length <= 1_000 {
        return range.fold(0, u64::wrapping_add);
    }
    let middle = range.start + length / 2;
    let (low, high) = join(|| sum(range.start..middle), || sum(middle..range.end));
    low.wrapping_add(high)
}

/// What a picture is taken with.
#[derive(Clone, Copy)]
struct Frame {
    size: (u32, u32),
    scale: f64,
    theme: &'static str,
}

impl Frame {
    const fn new(size: (u32, u32), scale: f64, theme: &'static str) -> Self {
        Self { size, scale, theme }
    }
}

/// Takes pictures into a folder.
struct Camera {
    page: Page,
    folder: String,
}

impl Camera {
    /// Opens a view as a frame asks for, and waits until `drawn` is true.
    async fn open(&self, address: &str, frame: Frame, drawn: &str) {
        self.page.resize(frame.size, frame.scale).await;
        self.page.prefer(frame.theme).await;
        self.page.open("about:blank").await;
        self.page.open(address).await;
        self.page.run(NEUTRAL_HOST).await;
        self.page
            .until(
                "the host has another name",
                "document.querySelector('#fact-host').textContent === 'shop-1:4711'",
            )
            .await;
        self.page.until("it is drawn", drawn).await;
        if address.contains("/pool/") {
            self.page.click("[data-seconds='60']").await;
        }
        // What comes later has come by then.
        self.page.after_figures(4).await;
    }

    async fn take(&self, name: &str) {
        let picture = self.page.picture().await;
        let file = Path::new(&self.folder).join(format!("console-{name}.png"));
        fs::write(file, picture).unwrap();
    }
}

const CARDS: &str = "document.querySelectorAll('.card').length === 5";
const CHARTS: &str = "document.querySelector('[data-chart=threads] canvas').checkVisibility()";

#[test]
#[ignore = "writes the pictures of the guide: scripts/console-pictures.sh"]
fn pictures() {
    let folder = env::var("WINDLASS_PICTURES").expect("WINDLASS_PICTURES names a folder");
    browse(async move |page| {
        let fixture = Fixture::with(|console| console.show_errors(true));
        let shop = Shop::open(&fixture.registry);
        let camera = Camera { page, folder };
        let checkout = fixture.url("pool/checkout");
        camera.page.open(&fixture.url("")).await;
        // Until a chart of a minute is full.
        for _ in 0..6 {
            camera.page.after_figures(10).await;
        }
        for theme in ["light", "dark"] {
            let frame = Frame::new((1340, 640), 1.0, theme);
            camera.open(&fixture.url(""), frame, CARDS).await;
            camera.take(&format!("overview-{theme}")).await;
            let sizes = [
                ("detail", (1340, 1000), 1.0),
                ("tablet", (800, 900), 1.0),
                ("phone", (360, 740), 2.0),
            ];
            for (name, size, scale) in sizes {
                let frame = Frame::new(size, scale, theme);
                camera.open(&checkout, frame, CHARTS).await;
                camera.take(&format!("{name}-{theme}")).await;
            }
        }
        let timer = fixture.url("pool/timer");
        let frame = Frame::new((1340, 1000), 1.0, "dark");
        camera.open(&timer, frame, CHARTS).await;
        camera.take("scheduled").await;
        let frame = Frame {
            theme: "light",
            ..frame
        };
        camera.open(&checkout, frame, CHARTS).await;
        let busy = "document.querySelectorAll('.worker:not([data-age=idle])').length > 4";
        camera.page.until("the workers are busy", busy).await;
        take_tuning(&camera).await;
        drop(shop);
    });
}

/// Takes a picture of a change that waits for its confirmation, and of the preview of another.
async fn take_tuning(camera: &Camera) {
    let page = &camera.page;
    page.unlock(TOKEN).await;
    tune_core(page, 6, "300").await;
    page.until_shown(".pending").await;
    page.fill("#tune-max", "16").await;
    page.click(".tune button[type=submit]").await;
    page.until_shown("#apply").await;
    page.until("no notice", "document.querySelector('.toast') === null")
        .await;
    page.run("scrollTo(0, 0)").await;
    page.resize((1340, 760), 1.0).await;
    page.after_figures(2).await;
    camera.take("tuning").await;
}
