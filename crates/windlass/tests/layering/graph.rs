//! Who uses whom: among modules, and among the files of one module.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use crate::resolve::{Target, resolve, resolve_path};
use crate::source::{Call, Crate, File, FileId, Owner, Receiver, Reference, Role};

/// A use of another module or file: where, and of what.
#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(crate) struct Use {
    pub(crate) line: usize,
    pub(crate) what: String,
}

impl Use {
    fn of(reference: &Reference) -> Self {
        Self {
            line: reference.line,
            what: reference.path.join("::"),
        }
    }
}

/// Files that use each other, directly or in a circle.
#[derive(Debug)]
pub(crate) struct Cycle {
    pub(crate) files: BTreeSet<String>,
    edges: Vec<(String, String, Use)>,
}

impl Cycle {
    /// Lists each use inside the cycle; not those of a folder's files by its root, which stands above
    /// them in any case.
    pub(crate) fn describe(&self) -> String {
        let mut text = format!("{:?}\n", self.files);
        for (from, to, why) in &self.edges {
            let folder = from.strip_suffix("mod.rs");
            if !folder.is_some_and(|folder| to.starts_with(folder)) {
                let _ = writeln!(text, "    {from}:{} uses {to} ({})", why.line, why.what);
            }
        }
        text
    }
}

/// The module directly below the root that a module is in; none for the root.
fn top(module: &[String]) -> Option<&str> {
    module.first().map(String::as_str)
}

impl Crate {
    /// Returns what each reference of each file leads to.
    fn targets(&self) -> impl Iterator<Item = (FileId, &Reference, Target)> {
        self.files.iter().enumerate().flat_map(move |(id, file)| {
            let references = file.references.iter();
            references.flat_map(move |reference| {
                let targets = resolve(self, id, reference).into_iter();
                targets.map(move |target| (id, reference, target))
            })
        })
    }

    /// Returns the modules below the root that each file uses, except its own.
    pub(crate) fn module_uses(&self) -> Vec<(FileId, String, Use)> {
        let mut uses = Vec::new();
        for (id, reference, target) in self.targets() {
            let module = match &target {
                Target::Item { file, .. } | Target::Reexport(file) => &self.files[*file].module,
                Target::Module(module) | Target::Missing { module, .. } => module,
                Target::Outside(_) => continue,
            };
            let own = top(&self.files[id].module);
            if let Some(used) = top(module).filter(|used| Some(*used) != own) {
                uses.push((id, used.to_string(), Use::of(reference)));
            }
        }
        uses
    }

    /// Returns what each file names of other crates, directly.
    pub(crate) fn outside_uses(&self) -> Vec<(FileId, Vec<String>, usize)> {
        let uses = self
            .targets()
            .filter_map(|(id, reference, target)| match target {
                Target::Outside(path) => Some((id, path, reference.line)),
                _ => None,
            });
        uses.collect()
    }

    /// Returns the paths that lead into a module and to nothing there: what the checker cannot see.
    pub(crate) fn missing(&self) -> Vec<(FileId, Use)> {
        let missing = self
            .targets()
            .filter_map(|(id, reference, target)| match target {
                Target::Missing { .. } => Some((id, Use::of(reference))),
                _ => None,
            });
        missing.collect()
    }

    /// Returns the cycles among the files of each module folder, code for tests aside.
    pub(crate) fn file_cycles(&self) -> Vec<Cycle> {
        let edges = self.file_edges();
        let mut cycles: Vec<Cycle> = Vec::new();
        for id in 0..self.files.len() {
            let is_known = |cycle: &Cycle| cycle.files.contains(&self.files[id].path);
            if cycles.iter().any(is_known) {
                continue;
            }
            let circle: BTreeSet<_> = reachable(&edges, id)
                .into_iter()
                .filter(|&other| reachable(&edges, other).contains(&id))
                .collect();
            if circle.len() < 2 {
                continue;
            }
            let inside = |from: &FileId, to: &FileId| circle.contains(from) && circle.contains(to);
            cycles.push(Cycle {
                files: circle
                    .iter()
                    .map(|id| self.files[*id].path.clone())
                    .collect(),
                edges: edges
                    .iter()
                    .filter(|((from, to), _)| inside(from, to))
                    .map(|((from, to), why)| {
                        let path = |id: &FileId| self.files[*id].path.clone();
                        (path(from), path(to), why.clone())
                    })
                    .collect(),
            });
        }
        cycles
    }

    /// The uses among files of one module folder, the first of each pair.
    fn file_edges(&self) -> BTreeMap<(FileId, FileId), Use> {
        let mut edges = BTreeMap::new();
        let mut add = |from: FileId, to: FileId, why: Use| {
            let (user, used) = (&self.files[from], &self.files[to]);
            let is_inside = top(&user.module).is_some() && top(&user.module) == top(&used.module);
            if from != to && is_inside && !user.is_test_only && !used.is_test_only {
                edges.entry((from, to)).or_insert(why);
            }
        };
        let methods = self.spread_methods();
        for (id, reference, target) in self.targets() {
            // The body of a macro belongs to the files that invoke it.
            if reference.role == Role::MacroBody {
                continue;
            }
            for used in self.files_of(&target, &methods) {
                add(id, used, Use::of(reference));
            }
        }
        for (id, file) in self.files.iter().enumerate() {
            for call in &file.calls {
                if let Some(used) = self.callee(id, call, &methods) {
                    let line = call.line;
                    let what = format!(".{}()", call.name);
                    add(id, used, Use { line, what });
                }
            }
            // The root of a folder stands above all that is in it, whether it names it or not.
            for (other, below) in self.files.iter().enumerate() {
                if is_root_of_folder(&file.path) && below.module.starts_with(&file.module) {
                    let line = 1;
                    let what = String::from("as the root of its folder");
                    add(id, other, Use { line, what });
                }
            }
        }
        edges
    }

    /// The files that a use of a target uses.
    fn files_of(&self, target: &Target, methods: &SpreadMethods) -> Vec<FileId> {
        match target {
            Target::Item { file, name, rest } => {
                let method = rest.first().and_then(|method| {
                    let files = methods.get(&(*file, name.clone()))?.get(method)?;
                    only(files)
                });
                std::iter::once(*file).chain(method).collect()
            }
            // Through the root of a folder one reaches what it re-exports, which is resolved; to
            // name the root alone uses nothing.
            Target::Module(module) => {
                let files = self.modules.get(module).map(|module| &module.files);
                let files = files.into_iter().flatten().copied();
                files
                    .filter(|file| !is_root_of_folder(&self.files[*file].path))
                    .collect()
            }
            Target::Reexport(file) => {
                let is_transparent = is_root_of_folder(&self.files[*file].path);
                if is_transparent { vec![] } else { vec![*file] }
            }
            Target::Outside(_) | Target::Missing { .. } => vec![],
        }
    }

    /// The methods of types whose inherent impls are spread over several files of a folder.
    fn spread_methods(&self) -> SpreadMethods {
        let mut methods = SpreadMethods::new();
        for (id, file) in self.files.iter().enumerate() {
            if file.is_test_only {
                continue;
            }
            for method in &file.methods {
                for owner in self.types_of(id, &method.owner) {
                    let of_owner = methods.entry(owner).or_default();
                    of_owner.entry(method.name.clone()).or_default().insert(id);
                }
            }
        }
        methods.retain(|_, methods| methods.values().flatten().collect::<BTreeSet<_>>().len() > 1);
        methods
    }

    /// The type that an impl in a file is of: where it is defined, and its name.
    fn types_of(&self, file: FileId, owner: &Owner) -> Vec<(FileId, String)> {
        resolve_path(self, file, &owner.scope, &owner.path)
            .into_iter()
            .filter_map(|target| match target {
                Target::Item { file, name, .. } => Some((file, name)),
                _ => None,
            })
            .collect()
    }

    /// The file with the method that a call means, if it is one of a type that is spread over files.
    fn callee(&self, caller: FileId, call: &Call, methods: &SpreadMethods) -> Option<FileId> {
        let folder = top(&self.files[caller].module)?;
        let mut files = BTreeSet::new();
        for ((defined, owner), of_owner) in methods {
            if top(&self.files[*defined].module) != Some(folder) {
                continue;
            }
            let is_meant = match &call.receiver {
                Receiver::This(own) => self
                    .types_of(caller, own)
                    .contains(&(*defined, owner.clone())),
                Receiver::Typed(names) => names.contains(owner),
                Receiver::Field(field) => match self.fields_of_type(folder, field, owner) {
                    (0, 0) => self.is_unique(folder, &call.name),
                    (0, _) => false,
                    (_, 0) => true,
                    (_, _) => self.is_unique(folder, &call.name),
                },
                Receiver::Unknown => self.is_unique(folder, &call.name),
            };
            if is_meant {
                files.extend(of_owner.get(&call.name).into_iter().flatten().copied());
            }
        }
        only(&files)
    }

    /// How many fields of that name have the type in their own type, and how many have not.
    fn fields_of_type(&self, folder: &str, field: &str, owner: &str) -> (usize, usize) {
        let fields = self.files_in(folder).flat_map(|file| &file.fields);
        let (with, without): (Vec<_>, Vec<_>) = fields
            .filter(|other| other.name == field)
            .partition(|field| field.type_names.contains(owner));
        (with.len(), without.len())
    }

    /// Whether one type of the folder alone has a method of that name.
    fn is_unique(&self, folder: &str, method: &str) -> bool {
        let mut owners = BTreeSet::new();
        for file in self.files_in(folder) {
            if file.trait_functions.contains(method) {
                return false;
            }
            let named = file.methods.iter().filter(|other| other.name == method);
            owners.extend(named.map(|method| method.owner.path.last()));
        }
        owners.len() == 1
    }

    fn files_in(&self, folder: &str) -> impl Iterator<Item = &File> {
        let files = self.files.iter();
        files.filter(move |file| !file.is_test_only && top(&file.module) == Some(folder))
    }
}

/// By type (the file that defines it, its name) and method: the files with such a method.
type SpreadMethods = BTreeMap<(FileId, String), BTreeMap<String, BTreeSet<FileId>>>;

fn only(files: &BTreeSet<FileId>) -> Option<FileId> {
    match files.len() {
        1 => files.first().copied(),
        _ => None,
    }
}

fn is_root_of_folder(path: &str) -> bool {
    path.ends_with("mod.rs")
}

fn reachable(edges: &BTreeMap<(FileId, FileId), Use>, start: FileId) -> BTreeSet<FileId> {
    let mut reached = BTreeSet::new();
    let mut pending = vec![start];
    while let Some(from) = pending.pop() {
        for (_, to) in edges.keys().filter(|(user, _)| *user == from) {
            if reached.insert(*to) {
                pending.push(*to);
            }
        }
    }
    reached
}
