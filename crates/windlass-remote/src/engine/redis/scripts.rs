//! The scripts, each with the common part before it.

use redis::Script;
use std::sync::LazyLock;

macro_rules! scripts {
    ($($name:ident: $file:literal,)*) => {
        $(pub(super) static $name: LazyLock<Script> = LazyLock::new(|| {
            Script::new(concat!(include_str!("lua/common.lua"), "\n", include_str!($file)))
        });)*
    };
}

scripts! {
    SUBMIT: "lua/submit.lua",
    TAKE: "lua/take.lua",
    REPORT: "lua/report.lua",
    CANCEL: "lua/cancel.lua",
    LOOK_UP: "lua/look_up.lua",
    CHECKPOINT: "lua/checkpoint.lua",
    LAST_CHECKPOINT: "lua/last_checkpoint.lua",
    BEAT: "lua/beat.lua",
    LEAVE: "lua/leave.lua",
    TICK: "lua/tick.lua",
    SCHEDULE: "lua/schedule.lua",
    UNSCHEDULE: "lua/unschedule.lua",
    FIRE: "lua/fire.lua",
    CONFIGURE: "lua/configure.lua",
    LIMIT: "lua/limit.lua",
    SETTLE_DEAD: "lua/settle_dead.lua",
}
