//! Tells the program its commit, for `--version`.

fn main() {
    pinakes_commit::emit();
}
