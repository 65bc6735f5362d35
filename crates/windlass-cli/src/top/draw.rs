//! Puts the pools on the screen.

use std::time::Duration;

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Modifier, Style, Stylize as _};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, Paragraph, Row, Sparkline, Table, TableState};

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
    let [header, table, detail, footer] = Layout::vertical([
        Constraint::Length(1),
        Constraint::Length(rows.min(frame.area().height / 2)),
        Constraint::Min(3),
        Constraint::Length(2),
    ])
    .areas(frame.area());
    frame.render_widget(title(app), header);
    pools(frame, app, table);
    if app.shows_help {
        frame.render_widget(
            Paragraph::new(help()).block(Block::bordered().title("keys")),
            detail,
        );
    } else if let Some(pool) = app.pool() {
        details(frame, app, pool, detail);
    }
    let lines = vec![
        Line::from(app.message.as_str().yellow()),
        Line::from(KEYS.dim()),
    ];
    frame.render_widget(Paragraph::new(lines), footer);
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

fn pools(frame: &mut Frame<'_>, app: &App, area: Rect) {
    let header = Row::new([
        "pool", "state", "threads", "", "queue", "a second", "wait p99", "run p99", "rejected",
        "alerts",
    ]);
    let rows = app.pools().iter().map(row);
    let widths = [
        Constraint::Min(12),
        Constraint::Length(9),
        Constraint::Length(10),
        Constraint::Length(10),
        Constraint::Length(13),
        Constraint::Length(9),
        Constraint::Length(9),
        Constraint::Length(9),
        Constraint::Length(9),
        Constraint::Min(8),
    ];
    let table = Table::new(rows, widths)
        .header(header.style(Style::new().add_modifier(Modifier::BOLD)))
        .row_highlight_style(Style::new().add_modifier(Modifier::REVERSED))
        .block(Block::bordered());
    let mut state = TableState::new().with_selected(Some(app.selected));
    frame.render_stateful_widget(table, area, &mut state);
}

fn row(pool: &Pool) -> Row<'static> {
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
    let style = if pool.alerts.is_empty() {
        Style::new()
    } else {
        Style::new().fg(Color::Red)
    };
    Row::new([
        pool.name.clone(),
        state.to_owned(),
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
    ])
    .style(style)
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
        Constraint::Length(6),
        Constraint::Fill(1),
        Constraint::Fill(1),
    ])
    .areas(left);
    let lines = vec![
        Line::from(quantiles("wait", pool.wait)),
        Line::from(quantiles("run ", pool.run)),
        Line::from(format!(
            "core {}  max {}  policy {}  failed {}",
            pool.threads.core,
            pool.threads.shown_max(),
            pool.config.policy.as_deref().unwrap_or("-"),
            pool.tasks.failed
        )),
        pending(app, pool),
    ];
    let block = Block::bordered().title(pool.name.clone());
    frame.render_widget(Paragraph::new(lines).block(block), figures);
    spark(frame, active, "active, last minute", &pool.spark.active);
    spark(frame, queue, "queue, last minute", &pool.spark.queue);
    let workers: Vec<Line<'_>> = app.workers.threads.iter().map(worker).collect();
    frame.render_widget(
        Paragraph::new(workers).block(Block::bordered().title("workers")),
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

fn quantiles(name: &str, quantiles: Option<Quantiles>) -> String {
    quantiles.map_or_else(
        || format!("{name}  -"),
        |q| {
            let [p50, p90, p99, max] = [q.p50, q.p90, q.p99, q.max].map(time);
            format!("{name}  p50 {p50:<9} p90 {p90:<9} p99 {p99:<9} max {max}")
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
