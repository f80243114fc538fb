mod claude;
mod codex;
mod cursor;
mod every_fixture;
mod garbled;
mod qwen;
mod replay;
mod shown;
