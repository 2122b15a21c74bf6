//! Tells the program its commit, for `--version`, and packs its relocations.

fn main() {
    pinakes_commit::emit();
    pinakes_commit::pack_relocations();
}
