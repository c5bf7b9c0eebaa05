//! Child processes that never outlive us: killed when the stack is dropped, when the process exits with the stack
//! still alive (`at_exit`), and by the kernel when the process is killed (`spawner`).

mod at_exit;
mod own;
mod proc_files;
mod spawner;
mod system;

pub(crate) use at_exit::{forget_folder, remember_folder};
pub(crate) use own::{Launch, OwnProcess};
pub(crate) use proc_files::Identity;
pub(crate) use system::{User, postgres_user};
