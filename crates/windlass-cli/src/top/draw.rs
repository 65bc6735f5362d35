//! Puts the pools on the screen.

use std::time::Duration;

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Modifier, Style, Stylize as _};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, Paragraph, Row, Sparkline, Table, TableState, Wrap};

use super::app::{App, REVERT_AFTER};
use crate::attach::{Pool, Quantiles, Worker};
use crate::duration::Short;

const KEYS: &str =
    "↑↓ pool   + - threads   < > max   [ ] queue   p pause   c keep   u undo   ? help   q quit";

/// Draws everything.
pub(super) fn draw(frame: &mut Frame<'_>, app: &App) {
    let rows = u16::try_from(app.pools().len())
        .unwrap_or(u16::MAX)
        .saturating_add(3);
    let keys = Paragraph::new(Line::from(KEYS.dim())).wrap(Wrap { trim: true });
    let key_lines = KEYS
        .chars()
        .count()
        .div_ceil(usize::from(frame.area().width.max(1)));
    let [header, table, detail, message, footer] = Layout::vertical([
        Constraint::Length(1),
        Constraint::Length(rows.min(frame.area().height / 2)),
        Constraint::Min(3),
        Constraint::Length(1),
        Constraint::Length(u16::try_from(key_lines).unwrap_or(1)),
    ])
    .areas(frame.area());
    frame.render_widget(title(app), header);
    pools(frame, app, table);
    if app.shows_help {
        frame.render_widget(
            Paragraph::new(help())
                .wrap(Wrap { trim: false })
                .block(Block::bordered().title("keys, esc closes")),
            detail,
        );
    } else if let Some(pool) = app.pool() {
        details(frame, app, pool, detail);
    }
    frame.render_widget(Line::from(app.message.as_str().yellow()), message);
    frame.render_widget(keys, footer);
}

fn title(app: &App) -> Line<'_> {
    let Some(overview) = &app.overview else {
        return Line::from("windlass top   waiting for the console");
    };
    let up = Duration::from_millis(overview.now_ms.saturating_sub(overview.started_ms));
    let alerts: usize = app.pools().iter().map(|pool| pool.alerts.len()).sum();
    let mut spans = vec![
        "windlass top".bold(),
        Span::from(format!(
            "   {}:{}   up {}   {} pools",
            overview.host,
            overview.pid,
            Short(up),
            overview.pools.len()
        )),
    ];
    if alerts > 0 {
        spans.push(format!("   {alerts} alerts").red().bold());
    }
    if overview.read_only || !app.can_write {
        spans.push("   read only".dim());
    }
    Line::from(spans)
}

/// A column of the table: its title, its width, and how wide a terminal has to be to show it. What does not fit
/// is left out, not cut: half of a number is another number.
type Column = (&'static str, Constraint, u16);

static COLUMNS: [Column; 10] = [
    ("pool", Constraint::Min(12), 0),
    ("state", Constraint::Length(11), 0),
    ("threads", Constraint::Length(10), 0),
    ("", Constraint::Length(10), 110),
    ("queue", Constraint::Length(13), 0),
    ("a second", Constraint::Length(9), 0),
    ("wait p99", Constraint::Length(9), 0),
    ("run p99", Constraint::Length(9), 0),
    ("rejected", Constraint::Length(9), 90),
    ("alerts", Constraint::Min(8), 110),
];

fn pools(frame: &mut Frame<'_>, app: &App, area: Rect) {
    let width = area.width;
    let is_shown = move |(_, _, from): &Column| width >= *from;
    let shown = || COLUMNS.iter().filter(move |column| is_shown(column));
    let header = Row::new(shown().map(|(title, _, _)| *title));
    let rows = app.pools().iter().map(|pool| {
        let cells = cells(pool).into_iter().zip(&COLUMNS);
        let style = if pool.alerts.is_empty() {
            Style::new()
        } else {
            Style::new().fg(Color::Red)
        };
        Row::new(
            cells
                .filter(|(_, column)| is_shown(column))
                .map(|(cell, _)| cell),
        )
        .style(style)
    });
    let table = Table::new(rows, shown().map(|(_, width, _)| *width))
        .header(header.style(Style::new().add_modifier(Modifier::BOLD)))
        .row_highlight_style(Style::new().add_modifier(Modifier::REVERSED))
        .block(Block::bordered());
    let mut state = TableState::new().with_selected(Some(app.selected));
    frame.render_stateful_widget(table, area, &mut state);
}

fn cells(pool: &Pool) -> [String; 10] {
    let threads = &pool.threads;
    let queue = match pool.queue.capacity {
        Some(capacity) => format!("{}/{capacity}", pool.queue.len),
        None => pool.queue.len.to_string(),
    };
    let state = if pool.paused_until_ms.is_some() {
        "paused"
    } else {
        pool.state.as_str()
    };
    // A colour alone is not seen by all, nor on each terminal; the column of alerts is not always there.
    let mark = if pool.alerts.is_empty() { "" } else { "! " };
    [
        pool.name.clone(),
        format!("{mark}{state}"),
        format!(
            "{}/{} ({})",
            threads.active,
            threads.size,
            threads.shown_max()
        ),
        bar(threads.active, threads.max.unwrap_or(threads.core)),
        queue,
        format!("{:.1}", pool.rates.completed),
        pool.wait.map_or_else(String::new, |q| time(q.p99)),
        pool.run.map_or_else(String::new, |q| time(q.p99)),
        format!(
            "{} {}",
            pool.tasks.rejected,
            if pool.rates.rejected > 0.0 { "↑" } else { "" }
        ),
        pool.alerts.join(","),
    ]
}

/// Eight characters that are filled as far as the threads are busy.
fn bar(active: u64, max: u64) -> String {
    let filled = usize::try_from(active * 8 / max.max(1)).unwrap_or(8).min(8);
    format!("{}{}", "█".repeat(filled), "░".repeat(8 - filled))
}

fn time(seconds: f64) -> String {
    Short(Duration::try_from_secs_f64(seconds).unwrap_or_default()).to_string()
}

fn details(frame: &mut Frame<'_>, app: &App, pool: &Pool, area: Rect) {
    let [left, right] =
        Layout::horizontal([Constraint::Percentage(55), Constraint::Percentage(45)]).areas(area);
    let [figures, active, queue] = Layout::vertical([
        Constraint::Length(if pool.alerts.is_empty() { 6 } else { 7 }),
        Constraint::Fill(1),
        Constraint::Fill(1),
    ])
    .areas(left);
    let mut lines = vec![
        Line::from(quantiles("wait", pool.wait, figures.width)),
        Line::from(quantiles("run ", pool.run, figures.width)),
        Line::from(format!(
            "core {}  max {}  policy {}  failed {}",
            pool.threads.core,
            pool.threads.shown_max(),
            pool.config.policy.as_deref().unwrap_or("-"),
            pool.tasks.failed
        )),
        pending(app, pool),
    ];
    if !pool.alerts.is_empty() {
        lines.insert(0, Line::from(format!("! {}", pool.alerts.join(", ")).red()));
    }
    let block = Block::bordered().title(pool.name.clone());
    frame.render_widget(Paragraph::new(lines).block(block), figures);
    spark(frame, active, "active, last minute", &pool.spark.active);
    spark(frame, queue, "queue, last minute", &pool.spark.queue);
    let room = usize::from(right.height.saturating_sub(2));
    let threads = &app.workers.threads;
    // Those that run something come first, where there is no room for all.
    let (busy, idle): (Vec<_>, Vec<_>) = threads.iter().partition(|worker| worker.task.is_some());
    let workers: Vec<Line<'_>> = busy
        .into_iter()
        .chain(idle)
        .take(room)
        .map(worker)
        .collect();
    let title = match threads.len() {
        count if count > room => format!("workers: {room} of {count}"),
        _ => "workers".to_owned(),
    };
    frame.render_widget(
        Paragraph::new(workers).block(Block::bordered().title(title)),
        right,
    );
}

fn pending<'a>(app: &App, pool: &Pool) -> Line<'a> {
    let now = app.overview.as_ref().map_or(0, |overview| overview.now_ms);
    match &pool.pending_revert {
        Some(revert) => {
            let left = Duration::from_millis(revert.at_ms.saturating_sub(now));
            Line::from(format!("taken back in {}; c keeps it", Short(left)).yellow())
        }
        None => Line::default(),
    }
}

fn quantiles(name: &str, quantiles: Option<Quantiles>, width: u16) -> String {
    quantiles.map_or_else(
        || format!("{name}  -"),
        |q| {
            let [p50, p90, p99, max] = [q.p50, q.p90, q.p99, q.max].map(time);
            if width < 64 {
                format!("{name} p50 {p50} p99 {p99} max {max}")
            } else {
                format!("{name}  p50 {p50:<9} p90 {p90:<9} p99 {p99:<9} max {max}")
            }
        },
    )
}

fn spark(frame: &mut Frame<'_>, area: Rect, title: &str, points: &[u64]) {
    let now = points.last().copied().unwrap_or(0);
    let most = points.iter().copied().max().unwrap_or(0);
    let title = format!("{title}: {now}, at most {most}");
    let width = usize::from(area.width.saturating_sub(2));
    let shown = &points[points.len().saturating_sub(width)..];
    let sparkline = Sparkline::default()
        .data(shown)
        .style(Style::new().fg(Color::Cyan))
        .block(Block::bordered().title(title));
    frame.render_widget(sparkline, area);
}

fn worker(worker: &Worker) -> Line<'_> {
    match &worker.task {
        None => Line::from(format!("{}  idle", worker.name).dim()),
        Some(task) => {
            let name = task.name.as_deref().unwrap_or(&task.id);
            Line::from(format!(
                "{}  {}  {name}",
                worker.name,
                time(task.since_seconds)
            ))
        }
    }
}

fn help() -> Vec<Line<'static>> {
    [
        "↑ ↓ or k j   select a pool".to_owned(),
        "+ -          core threads (parallelism of a fork-join pool); max follows if it has to".to_owned(),
        "< >          threads at most".to_owned(),
        "[ ]          half or twice the bound of the queue".to_owned(),
        "p            pause for a minute, or resume".to_owned(),
        format!("c u          keep a change, or take it back; by itself it is taken back after {REVERT_AFTER} s"),
        "q or ctrl-c  quit; the pools are left as they are".to_owned(),
    ]
    .map(Line::from)
    .to_vec()
}

#[cfg(test)]
mod tests {
    use ratatui::Terminal;
    use ratatui::backend::TestBackend;
    use serde_json::json;

    use super::super::app::App;
    use super::draw;

    fn app() -> App {
        let times = json!({"p50": 0.0113, "p90": 0.0215, "p99": 754.0, "max": 754.0, "mean": 0.1});
        let overview = json!({
            "host": "box", "pid": 1, "started_ms": 0, "now_ms": 1, "read_only": false,
            "pools": [{
                "name": "thumbnails", "kind": "thread_pool", "state": "running", "version": 3,
                "threads": {"size": 16, "active": 16, "core": 16, "max": 64},
                "queue": {"len": 199, "capacity": 200, "oldest_seconds": null},
                "tasks": {"completed": 0, "failed": 0, "rejected": 12},
                "rates": {"completed": 1234.5, "rejected": 1.0},
                "wait": times, "run": times,
                "config": {"policy": "abort", "capacity": 200, "keep_alive_seconds": 60, "parallelism": null},
                "tunable": ["core"], "pending_revert": null, "paused_until_ms": null,
            }],
        });
        let mut app = App::default();
        app.update(serde_json::from_value(overview).unwrap());
        app
    }

    fn screen(app: &App, (width, height): (u16, u16)) -> String {
        let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
        terminal.draw(|frame| draw(frame, app)).unwrap();
        terminal.backend().to_string()
    }

    #[test]
    fn nothing_is_cut_on_a_small_terminal() {
        let app = app();
        let small = screen(&app, (80, 24));
        for text in [
            "thumbnails",
            "16/16 (64)",
            "199/200",
            "1234.5",
            "12m 34s",
            "p50 11.3 ms",
            "max 12m 34s",
            "q quit",
            "wait p99",
            "run p99",
        ] {
            assert!(small.contains(text), "no {text:?} in\n{small}");
        }
        assert!(!small.contains("rejected"), "{small}");
        let large = screen(&app, (120, 40));
        for text in ["rejected", "alerts", "██░░", "p90 21.5 ms"] {
            assert!(large.contains(text), "no {text:?} in\n{large}");
        }
    }

    #[test]
    fn an_alert_is_more_than_a_colour_on_a_small_terminal() {
        let mut app = app();
        let mut pool = app.pools()[0].clone();
        assert!(!screen(&app, (80, 24)).contains('!'));
        pool.alerts = vec!["queue_age".to_owned(), "reject".to_owned()];
        app.overview.as_mut().unwrap().pools = vec![pool];
        let small = screen(&app, (80, 24));
        for text in ["! running", "! queue_age, reject", "16/16 (64)", "12m 34s"] {
            assert!(small.contains(text), "no {text:?} in\n{small}");
        }
    }

    #[test]
    fn the_help_is_whole_on_a_small_terminal() {
        let mut app = app();
        app.shows_help = true;
        let words = screen(&app, (80, 24)).replace(['│', '"', '\n'], " ");
        let words: Vec<&str> = words.split_whitespace().collect();
        let text = words.join(" ");
        for part in [
            "max follows if it has to",
            "taken back after 60 s",
            "left as they are",
        ] {
            assert!(text.contains(part), "no {part:?} in {text}");
        }
    }
}
