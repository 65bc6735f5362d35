//! Follows a path to what it means: through imports, renames, groups, globs and re-exports, to the
//! file that defines it.

use std::collections::BTreeSet;

use crate::source::{Crate, FileId, GLOBAL, ModulePath, Namespace, Reference, Role};

/// What a path leads to. A path may lead to several things: names live in several namespaces, and
/// `cfg` may choose between definitions.
#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(crate) enum Target {
    /// An item, and what follows its name: a variant, an associated function.
    Item {
        file: FileId,
        name: String,
        rest: Vec<String>,
    },
    /// A module of the crate.
    Module(ModulePath),
    /// Something of another crate, named in the file of the reference itself.
    Outside(Vec<String>),
    /// Something of another crate, through the re-export of another file.
    Reexport(FileId),
    /// A name that a module of the crate does not have.
    Missing { module: ModulePath, name: String },
}

/// More steps than any honest chain of re-exports has.
const LIMIT: usize = 32;

struct Search<'a> {
    krate: &'a Crate,
    home: FileId,
    /// Whether a glob may bring a name in: the path of a glob itself is read without.
    with_globs: bool,
    found: BTreeSet<Target>,
}

/// Returns what a reference in a file leads to; nothing for a local name, or one of the prelude.
pub(crate) fn resolve(krate: &Crate, home: FileId, reference: &Reference) -> BTreeSet<Target> {
    let mut search = Search::new(krate, home);
    search.follow(&reference.scope, &reference.path, home, 0);
    // One namespace is enough.
    let is_missing = |target: &Target| matches!(target, Target::Missing { .. });
    if !search.found.iter().all(is_missing) {
        search.found.retain(|target| !is_missing(target));
    }
    if let Role::Import(name) = &reference.role {
        drop_unused_namespace(krate, home, name, &mut search.found);
    }
    if search.found.is_empty() && reference.role == Role::Macro && reference.path.len() == 1 {
        search.textual_macro(&reference.scope, &reference.path[0]);
    }
    search.found
}

/// An import of a name that is both a module and a value imports both. It counts as a use of those
/// that the file goes on to use: `name::x` is of the module, `name` alone is of the value.
fn drop_unused_namespace(krate: &Crate, file: FileId, name: &str, found: &mut BTreeSet<Target>) {
    let is_module = |target: &Target| matches!(target, Target::Module(_));
    if found.iter().all(is_module) || !found.iter().any(is_module) {
        return;
    }
    let others = krate.files[file].references.iter();
    let used = others.filter(|other| other.role == Role::Path && other.path[0] == name);
    let (deep, alone): (Vec<_>, Vec<_>) = used.partition(|other| other.path.len() > 1);
    if !deep.is_empty() && alone.is_empty() {
        found.retain(is_module);
    } else if deep.is_empty() && !alone.is_empty() {
        found.retain(|target| !is_module(target));
    }
}

/// Returns what a path in a module leads to.
pub(crate) fn resolve_path(
    krate: &Crate,
    home: FileId,
    scope: &ModulePath,
    path: &[String],
) -> BTreeSet<Target> {
    let mut search = Search::new(krate, home);
    search.follow(scope, path, home, 0);
    search.found
}

impl<'a> Search<'a> {
    fn new(krate: &'a Crate, home: FileId) -> Self {
        Self {
            krate,
            home,
            with_globs: true,
            found: BTreeSet::new(),
        }
    }

    /// Follows a path that stands in a module; `file` is where it is written.
    fn follow(&mut self, scope: &[String], path: &[String], file: FileId, depth: usize) {
        let Some((first, rest)) = path.split_first() else {
            return;
        };
        match first.as_str() {
            _ if depth > LIMIT => {}
            GLOBAL => self.outside(rest.to_vec(), file),
            "crate" => self.descend(&[], rest, depth),
            "self" => self.descend(scope, rest, depth),
            "super" => {
                let parent = &scope[..scope.len().saturating_sub(1)];
                match rest.first() {
                    Some(next) if next == "super" => self.follow(parent, rest, file, depth + 1),
                    _ => self.descend(parent, rest, depth),
                }
            }
            _ => {
                if self.named_in(scope, first, rest, depth) {
                    return;
                }
                if path.len() > 1 {
                    self.outside(path.to_vec(), file);
                }
            }
        }
    }

    /// Follows the rest of a path inside a module.
    fn descend(&mut self, module: &[String], path: &[String], depth: usize) {
        match path.split_first() {
            None => {
                self.found.insert(Target::Module(module.to_vec()));
            }
            Some((first, rest)) => {
                if !self.named_in(module, first, rest, depth) {
                    self.found.insert(Target::Missing {
                        module: module.to_vec(),
                        name: first.clone(),
                    });
                }
            }
        }
    }

    /// Follows a name that a module defines, declares or imports. Returns whether it does.
    fn named_in(&mut self, module: &[String], name: &str, rest: &[String], depth: usize) -> bool {
        let krate = self.krate;
        let Some(scope) = krate.modules.get(module) else {
            return false;
        };
        // Of files that `cfg` chooses between, one does not see the others.
        let is_seen = |file: FileId| file == self.home || !scope.files.contains(&self.home);
        let items = scope.items.get(name).into_iter().flatten();
        let items: Vec<_> = items
            .filter(|(_, namespace)| rest.is_empty() || *namespace == Namespace::Types)
            .map(|(file, _)| *file)
            .filter(|file| is_seen(*file))
            .collect();
        let bindings: Vec<_> = scope
            .bindings
            .iter()
            .filter(|binding| binding.name == name && is_seen(binding.file))
            .collect();
        let mut known = false;
        if scope.children.contains(name) {
            known = true;
            self.follow_child(module, name, rest, depth);
        }
        for file in items {
            known = true;
            self.found.insert(Target::Item {
                file,
                name: name.into(),
                rest: rest.to_vec(),
            });
        }
        for binding in bindings {
            known = true;
            let mut path = binding.path.clone();
            path.extend(rest.iter().cloned());
            if binding.path[0] != name {
                self.follow(module, &path, binding.file, depth + 1);
            } else if scope.children.contains(name) {
                // `use name::name`: of the child, not of this binding.
                self.follow_child(module, name, &path[1..], depth);
            } else {
                self.outside(path, binding.file);
            }
        }
        known || self.globbed_in(module, name, rest, depth)
    }

    fn follow_child(&mut self, module: &[String], name: &str, rest: &[String], depth: usize) {
        let mut child = module.to_vec();
        child.push(name.into());
        // An inline module for tests only is not read.
        if self.krate.modules.contains_key(&child) {
            self.descend(&child, rest, depth + 1);
        }
    }

    /// Follows a name that only a glob import can bring in. Returns whether one does.
    fn globbed_in(&mut self, module: &[String], name: &str, rest: &[String], depth: usize) -> bool {
        if depth > LIMIT || !self.with_globs {
            return false;
        }
        let mut known = false;
        let krate = self.krate;
        for (file, glob) in &krate.modules[module].globs {
            let mut globbed = Search::new(krate, *file);
            globbed.with_globs = false;
            globbed.follow(module, glob, *file, depth + 1);
            if globbed.found.is_empty() {
                globbed.outside(glob.clone(), *file);
            }
            for target in globbed.found {
                match target {
                    Target::Module(inner) if inner != module => {
                        known |= self.named_in(&inner, name, rest, depth + 1);
                    }
                    // Whether it has the name cannot be seen from here: count it as if.
                    Target::Outside(mut path) => {
                        path.push(name.into());
                        path.extend(rest.iter().cloned());
                        self.outside(path, *file);
                    }
                    _ => {}
                }
            }
        }
        known
    }

    fn outside(&mut self, path: Vec<String>, file: FileId) {
        self.found.insert(if file == self.home {
            Target::Outside(path)
        } else {
            Target::Reexport(file)
        });
    }

    /// A `macro_rules` without a path is seen by all that follows it, in inner modules too.
    fn textual_macro(&mut self, scope: &[String], name: &str) {
        for length in (0..=scope.len()).rev() {
            let module = self.krate.modules.get(&scope[..length]);
            let items = module.and_then(|module| module.items.get(name));
            for &(file, _) in items.into_iter().flatten() {
                self.found.insert(Target::Item {
                    file,
                    name: name.into(),
                    rest: Vec::new(),
                });
            }
        }
    }
}
