//! The options of `windlass queue`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

use crate::engine::EngineAddress;

/// The options of `windlass queue`.
#[derive(Debug, Clone, Args)]
pub struct QueueOptions {
    /// Address of the engine; without it, or if it is `env`, the variable WINDLASS_ENGINE
    #[arg(long, global = true, value_name = "URL")]
    pub engine: Option<EngineAddress>,

    /// The queue; `default` if one is needed, and tasks are looked for in all of them
    #[arg(long, global = true, value_name = "NAME")]
    pub queue: Option<String>,

    /// Print JSON
    #[arg(long, global = true)]
    pub json: bool,

    /// What to do
    #[command(subcommand)]
    pub action: QueueAction,
}

/// What `windlass queue` does.
#[derive(Debug, Clone, Subcommand)]
pub enum QueueAction {
    /// The tasks of a queue, in no particular order
    List(ListOptions),

    /// All queues, with what waits, runs and is dead in them
    Queues,

    /// The counts and settings of a queue
    Stats,

    /// The workers of a queue, or of all
    Workers,

    /// What is known of a task, as long as its record is kept
    Show {
        /// The id of the task
        #[arg(value_name = "ID")]
        id: String,
    },

    /// Cancel tasks, whether they run or not: their workers end them
    Cancel {
        /// The ids of the tasks
        #[arg(value_name = "ID", required = true)]
        ids: Vec<String>,
    },

    /// Make dead letters ready again, as if they had never run
    Retry {
        /// The ids of the tasks
        #[arg(value_name = "ID", required = true)]
        ids: Vec<String>,
    },

    /// Dead letters: tasks that were given up
    Dead {
        /// What to do with them; without it, they are listed
        #[command(subcommand)]
        action: Option<DeadAction>,
    },

    /// Let workers fetch nothing from a queue. What runs runs on, and tasks can be submitted
    Pause,

    /// End a pause
    Resume,

    /// Show the queues in the browser until ctrl-c
    Console {
        /// Address to listen on; another than loopback needs --token-file
        #[arg(long, value_name = "HOST:PORT", default_value = "127.0.0.1:7171")]
        bind: String,

        /// File with the token that changes need; without it, a random one is printed
        #[arg(long, value_name = "FILE")]
        token_file: Option<PathBuf>,

        /// Nothing can be changed, with whatever token
        #[arg(long)]
        read_only: bool,

        /// Show the messages of failed tasks, which may tell what they work on
        #[arg(long)]
        show_errors: bool,
    },
}

/// The options of `windlass queue list`.
#[derive(Debug, Clone, Args)]
pub struct ListOptions {
    /// Only tasks in this state; may be given several times. Those that have ended are kept for a while
    #[arg(long, value_name = "STATE", value_enum)]
    pub state: Vec<StateName>,

    /// About how many to print; the end of the list then says how to go on
    #[arg(long, value_name = "N", default_value_t = 50)]
    pub count: usize,

    /// Print all of them; with --json in several lines, each of them a part of the list
    #[arg(long, conflicts_with = "count")]
    pub all: bool,

    /// Go on where the list before ended: what that has printed
    #[arg(long, value_name = "PLACE")]
    pub after: Option<String>,

    /// Print the ids alone
    #[arg(long, conflicts_with = "json")]
    pub ids: bool,
}

/// A state of a task on the command line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum StateName {
    /// Waits for its time, also that of another attempt
    Scheduled,
    /// Waits for a worker
    Ready,
    /// Runs on a worker
    Running,
    /// Has succeeded
    Done,
    /// Has failed for good
    Failed,
    /// Was cancelled
    Cancelled,
    /// Was given up, and is kept as a dead letter
    Dead,
}

/// What is done with dead letters.
#[derive(Debug, Clone, Subcommand)]
pub enum DeadAction {
    /// Those of a queue, the latest first
    List {
        /// How many to leave out
        #[arg(long, value_name = "N", default_value_t = 0)]
        skip: usize,

        /// How many to print
        #[arg(long, value_name = "N", default_value_t = 50)]
        count: usize,
    },

    /// Make them ready again, as if they had never run
    Retry(DeadChoice),

    /// Forget them
    Drop(DeadChoice),
}

/// Which dead letters are meant.
#[derive(Debug, Clone, Args)]
#[group(required = true, multiple = false)]
pub struct DeadChoice {
    /// The ids of the tasks
    #[arg(value_name = "ID")]
    pub ids: Vec<String>,

    /// All dead letters of the queue
    #[arg(long)]
    pub all: bool,
}
