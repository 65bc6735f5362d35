//! Reads the sources of a crate: its module tree, the names that each module defines or imports, and
//! everything that each file refers to.
//!
//! Code that is compiled for tests only (`#[cfg(test)]`, `#[cfg(all(test, …))]`, `#[test]`) is left
//! out where it stands; the code after it is not. A file whose `mod` declaration is for tests only is
//! read, and marked.

use std::collections::{BTreeMap, BTreeSet};

use proc_macro2::{Delimiter, Span, TokenStream, TokenTree};
use syn::spanned::Spanned;
use syn::visit::{self, Visit};

use crate::attributes::{attributes_of_impl_item, is_for_tests, named_files, parts_of_item};

/// The path of a module from the crate's root, which is empty.
pub(crate) type ModulePath = Vec<String>;

/// The index of a file in [`Crate::files`].
pub(crate) type FileId = usize;

/// The first segment of a path that starts with `::`.
pub(crate) const GLOBAL: &str = "::";

#[derive(Debug, Default)]
pub(crate) struct Crate {
    pub(crate) files: Vec<File>,
    pub(crate) modules: BTreeMap<ModulePath, Module>,
    /// Files that were given and that no `mod` declares.
    pub(crate) orphans: Vec<String>,
}

#[derive(Debug)]
pub(crate) struct File {
    /// The path below `src`.
    pub(crate) path: String,
    pub(crate) module: ModulePath,
    pub(crate) is_test_only: bool,
    pub(crate) references: Vec<Reference>,
    pub(crate) calls: Vec<Call>,
    pub(crate) methods: Vec<Method>,
    /// The names of functions in traits, and in impls of traits.
    pub(crate) trait_functions: BTreeSet<String>,
    pub(crate) fields: Vec<Field>,
    /// The lines with `unsafe`.
    pub(crate) unsafe_lines: Vec<usize>,
}

/// What can be named in a module.
#[derive(Debug, Default)]
pub(crate) struct Module {
    /// The files that the module is in: several if `cfg` chooses between them.
    pub(crate) files: BTreeSet<FileId>,
    pub(crate) children: BTreeSet<String>,
    pub(crate) items: BTreeMap<String, BTreeSet<(FileId, Namespace)>>,
    pub(crate) bindings: Vec<Binding>,
    pub(crate) globs: Vec<(FileId, Vec<String>)>,
}

/// Where a name lives: the name of a value has nothing below it.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(crate) enum Namespace {
    Types,
    Values,
}

/// A name that a `use` brings into a module.
#[derive(Debug)]
pub(crate) struct Binding {
    pub(crate) name: String,
    pub(crate) path: Vec<String>,
    pub(crate) file: FileId,
}

/// A path in a `use`, an expression, a type, a pattern or the tokens of a macro.
#[derive(Debug)]
pub(crate) struct Reference {
    pub(crate) scope: ModulePath,
    pub(crate) path: Vec<String>,
    pub(crate) line: usize,
    pub(crate) role: Role,
}

/// What a path stands for.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) enum Role {
    /// It is imported under this name.
    Import(String),
    /// It names a macro that is invoked.
    Macro,
    /// It stands in a `macro_rules`, and is used where that is invoked.
    MacroBody,
    Path,
}

/// A method call.
#[derive(Debug)]
pub(crate) struct Call {
    pub(crate) name: String,
    pub(crate) receiver: Receiver,
    pub(crate) line: usize,
}

/// What a method is called on, as far as it can be seen without type inference.
#[derive(Debug)]
pub(crate) enum Receiver {
    /// `self` in an impl of this type.
    This(Owner),
    /// A field of that name, of whatever value.
    Field(String),
    /// A parameter whose type names these identifiers.
    Typed(BTreeSet<String>),
    Unknown,
}

/// The type of an `impl`: its path, and where that path stands.
#[derive(Clone, Debug)]
pub(crate) struct Owner {
    pub(crate) scope: ModulePath,
    pub(crate) path: Vec<String>,
}

/// A function in an inherent impl.
#[derive(Debug)]
pub(crate) struct Method {
    pub(crate) owner: Owner,
    pub(crate) name: String,
}

/// A field of a struct, and the identifiers in its type.
#[derive(Debug)]
pub(crate) struct Field {
    pub(crate) name: String,
    pub(crate) type_names: BTreeSet<String>,
}

impl Crate {
    /// Reads a crate from its files, given as (path below `src`, text). The root is `lib.rs`.
    ///
    /// # Panics
    ///
    /// Panics if a file does not parse, or if a declared module has no file.
    pub(crate) fn read<'a>(texts: impl IntoIterator<Item = (&'a str, &'a str)>) -> Self {
        let texts: BTreeMap<_, _> = texts.into_iter().collect();
        let mut this = Self::default();
        let mut pending = vec![(String::from("lib.rs"), ModulePath::new(), false)];
        while let Some((path, module, is_test_only)) = pending.pop() {
            let text = texts
                .get(path.as_str())
                .unwrap_or_else(|| panic!("no file {path}"));
            let syntax = syn::parse_file(text).unwrap_or_else(|error| panic!("{path}: {error}"));
            let is_test_only = is_test_only || syntax.attrs.iter().any(is_for_tests);
            for declared in this.read_file(&path, module, is_test_only, &syntax) {
                let file = declared.file(&texts);
                pending.push((file, declared.module, declared.is_test_only));
            }
        }
        let read: BTreeSet<_> = this.files.iter().map(|file| file.path.as_str()).collect();
        this.orphans = texts
            .keys()
            .filter(|path| !read.contains(**path))
            .map(ToString::to_string)
            .collect();
        this
    }

    fn read_file(
        &mut self,
        path: &str,
        module: ModulePath,
        is_test_only: bool,
        syntax: &syn::File,
    ) -> Vec<Declared> {
        let id = self.files.len();
        self.files.push(File {
            path: path.into(),
            module: module.clone(),
            is_test_only,
            references: Vec::new(),
            calls: Vec::new(),
            methods: Vec::new(),
            trait_functions: BTreeSet::new(),
            fields: Vec::new(),
            unsafe_lines: Vec::new(),
        });
        let mut reader = Reader {
            krate: self,
            file: id,
            module,
            owner: None,
            parameters: Vec::new(),
            declared: Vec::new(),
            is_silent: false,
        };
        reader.module().files.insert(id);
        reader.visit_file(syntax);
        reader.declared
    }
}

/// A `mod name;`: its file is still to be read.
struct Declared {
    module: ModulePath,
    /// The file that a `#[path]` names.
    named: Option<String>,
    /// The folder in which the file or folder of the module is.
    folder: String,
    is_test_only: bool,
}

impl Declared {
    fn file(&self, texts: &BTreeMap<&str, &str>) -> String {
        let name = self.module.last().map_or("", String::as_str);
        let candidates = match &self.named {
            Some(named) => vec![format!("{}{named}", self.folder)],
            None => vec![
                format!("{}{name}.rs", self.folder),
                format!("{}{name}/mod.rs", self.folder),
            ],
        };
        let found = candidates
            .iter()
            .find(|path| texts.contains_key(path.as_str()));
        found
            .unwrap_or_else(|| panic!("no file for {:?}: {candidates:?}", self.module))
            .clone()
    }
}

struct Reader<'a> {
    krate: &'a mut Crate,
    file: FileId,
    module: ModulePath,
    /// The type of the impl around the current place.
    owner: Option<Owner>,
    /// The parameters of the functions around the current place, with the names in their types.
    parameters: Vec<(String, BTreeSet<String>)>,
    declared: Vec<Declared>,
    /// Whether names are taken up, but not counted as uses.
    is_silent: bool,
}

impl Reader<'_> {
    fn module(&mut self) -> &mut Module {
        self.krate.modules.entry(self.module.clone()).or_default()
    }

    fn file(&mut self) -> &mut File {
        &mut self.krate.files[self.file]
    }

    /// Whether what has these attributes is for tests only, in a file that is not.
    fn skips(&self, attributes: &[syn::Attribute]) -> bool {
        !self.krate.files[self.file].is_test_only && attributes.iter().any(is_for_tests)
    }

    fn define(&mut self, name: &syn::Ident, namespace: Namespace) {
        let file = self.file;
        let items = self.module().items.entry(name.to_string()).or_default();
        items.insert((file, namespace));
    }

    fn refer(&mut self, path: Vec<String>, span: Span, role: Role) {
        // A value called `self` is not a module.
        if self.is_silent || path == ["self"] {
            return;
        }
        let scope = self.module.clone();
        let line = span.start().line;
        let reference = Reference {
            scope,
            path,
            line,
            role,
        };
        self.file().references.push(reference);
    }

    fn call(&mut self, name: &impl ToString, span: Span, receiver: Receiver) {
        let call = Call {
            name: name.to_string(),
            receiver,
            line: span.start().line,
        };
        self.file().calls.push(call);
    }

    fn note_method(&mut self, owner: &Owner, name: String, is_of_trait: bool) {
        if is_of_trait {
            self.file().trait_functions.insert(name);
        } else {
            let owner = owner.clone();
            self.file().methods.push(Method { owner, name });
        }
    }

    fn note_unsafe(&mut self, span: Span) {
        self.file().unsafe_lines.push(span.start().line);
    }

    fn note_unsafety(&mut self, unsafety: Option<&syn::token::Unsafe>) {
        if let Some(token) = unsafety {
            self.note_unsafe(token.span);
        }
    }

    fn declare_child(&mut self, item: &syn::ItemMod) {
        let name = item.ident.to_string();
        self.module().children.insert(name.clone());
        let mut module = self.module.clone();
        module.push(name);
        let path = self.file().path.clone();
        let (folder, file) = path.rsplit_once('/').unwrap_or(("", &path));
        let folder = if folder.is_empty() {
            String::new()
        } else {
            format!("{folder}/")
        };
        // The children of `x.rs` are in `x/`, unless it is the root of a folder.
        let below = match file {
            "mod.rs" | "lib.rs" => folder.clone(),
            _ => format!("{folder}{}/", file.trim_end_matches(".rs")),
        };
        let named = named_files(&item.attrs);
        let is_test_only = self.file().is_test_only || item.attrs.iter().any(is_for_tests);
        let declared = |named: Option<String>| Declared {
            module: module.clone(),
            folder: if named.is_some() {
                folder.clone()
            } else {
                below.clone()
            },
            named,
            is_test_only,
        };
        if named.is_empty() {
            self.declared.push(declared(None));
        } else {
            self.declared
                .extend(named.into_iter().map(Some).map(declared));
        }
    }

    fn import(&mut self, tree: &syn::UseTree, prefix: &mut Vec<String>) {
        match tree {
            syn::UseTree::Path(path) => {
                prefix.push(path.ident.to_string());
                self.import(&path.tree, prefix);
                prefix.pop();
            }
            syn::UseTree::Group(group) => {
                for tree in &group.items {
                    self.import(tree, prefix);
                }
            }
            syn::UseTree::Name(name) => self.bind(prefix, &name.ident, None),
            syn::UseTree::Rename(rename) => self.bind(prefix, &rename.ident, Some(&rename.rename)),
            syn::UseTree::Glob(glob) => {
                let file = self.file;
                self.module().globs.push((file, prefix.clone()));
                self.refer(prefix.clone(), glob.span(), Role::Path);
            }
        }
    }

    fn bind(&mut self, prefix: &[String], last: &syn::Ident, rename: Option<&syn::Ident>) {
        let mut path = prefix.to_vec();
        // `a::{self}` is `a`.
        if last != "self" || path.is_empty() {
            path.push(last.to_string());
        }
        let name = rename.map_or_else(|| path.last().cloned(), |name| Some(name.to_string()));
        let name = name.unwrap_or_default();
        let binding = Binding {
            name: name.clone(),
            path: path.clone(),
            file: self.file,
        };
        self.module().bindings.push(binding);
        self.refer(path, last.span(), Role::Import(name));
    }

    fn receiver(&self, expr: &syn::Expr) -> Receiver {
        match expr {
            syn::Expr::Path(path) => match path.path.get_ident() {
                Some(name) => self.receiver_named(&name.to_string()),
                None => Receiver::Unknown,
            },
            syn::Expr::Field(field) => Receiver::Field(match &field.member {
                syn::Member::Named(name) => name.to_string(),
                syn::Member::Unnamed(index) => index.index.to_string(),
            }),
            syn::Expr::Reference(inner) => self.receiver(&inner.expr),
            syn::Expr::Paren(inner) => self.receiver(&inner.expr),
            syn::Expr::Unary(inner) => self.receiver(&inner.expr),
            _ => Receiver::Unknown,
        }
    }

    fn receiver_named(&self, name: &str) -> Receiver {
        match &self.owner {
            Some(owner) if name == "self" => Receiver::This(owner.clone()),
            _ => {
                let named = |parameter: &&(String, BTreeSet<String>)| parameter.0 == name;
                let parameter = self.parameters.iter().rev().find(named);
                parameter.map_or(Receiver::Unknown, |(_, names)| {
                    Receiver::Typed(names.clone())
                })
            }
        }
    }

    /// Reads the tokens of a macro: paths, method calls and `unsafe`.
    ///
    /// The body of a `macro_rules` means what its names mean where it is invoked: there only paths
    /// count that mean the same everywhere.
    fn scan(&mut self, tokens: TokenStream, is_definition: bool) {
        let tokens: Vec<_> = tokens.into_iter().collect();
        let mut at = 0;
        while at < tokens.len() {
            match &tokens[at] {
                TokenTree::Group(group) => self.scan(group.stream(), is_definition),
                TokenTree::Ident(ident) if ident == "unsafe" => self.note_unsafe(ident.span()),
                TokenTree::Ident(ident) => {
                    let is_member = at > 0 && is_punct(&tokens[at - 1], '.');
                    if is_member && is_called(&tokens, at + 1) {
                        let receiver = self.receiver_before(&tokens, at - 1);
                        self.call(ident, ident.span(), receiver);
                    } else if !is_member {
                        at += self.scan_path(&tokens, at, is_definition);
                        continue;
                    }
                }
                TokenTree::Punct(_) | TokenTree::Literal(_) => {}
            }
            at += 1;
        }
    }

    /// Reads the path that starts at a token, and returns how many tokens it has.
    fn scan_path(&mut self, tokens: &[TokenTree], start: usize, is_definition: bool) -> usize {
        let mut path = Vec::new();
        let mut at = start;
        if start >= 2 && is_colons(tokens, start - 2) {
            path.push(String::from(GLOBAL));
        }
        while let Some(TokenTree::Ident(ident)) = tokens.get(at) {
            path.push(ident.to_string());
            at += 1;
            if !is_colons(tokens, at) {
                break;
            }
            if !matches!(tokens.get(at + 2), Some(TokenTree::Ident(_))) {
                at += 2;
                break;
            }
            at += 2;
        }
        let is_macro = tokens.get(at).is_some_and(|token| is_punct(token, '!'))
            && matches!(tokens.get(at + 1), Some(TokenTree::Group(_)));
        let role = match (is_definition, is_macro) {
            (true, _) => Role::MacroBody,
            (false, true) => Role::Macro,
            (false, false) => Role::Path,
        };
        let everywhere = ["crate", "std", "core", "alloc", GLOBAL];
        if !is_definition || everywhere.contains(&path[0].as_str()) {
            self.refer(path, tokens[start].span(), role);
        }
        at - start
    }

    /// What stands before the `.` of a method call in the tokens of a macro.
    fn receiver_before(&self, tokens: &[TokenTree], dot: usize) -> Receiver {
        match dot.checked_sub(1).map(|before| &tokens[before]) {
            Some(TokenTree::Ident(ident)) if dot >= 2 && is_punct(&tokens[dot - 2], '.') => {
                Receiver::Field(ident.to_string())
            }
            Some(TokenTree::Ident(ident)) => self.receiver_named(&ident.to_string()),
            Some(TokenTree::Literal(index)) => Receiver::Field(index.to_string()),
            _ => Receiver::Unknown,
        }
    }

    /// The items that a macro invoked in item position defines, as far as its tokens name them.
    fn define_by_macro(&mut self, tokens: TokenStream) {
        const KEYWORDS: &[&str] = &[
            "static", "const", "struct", "enum", "fn", "type", "trait", "mod",
        ];
        let tokens: Vec<_> = tokens.into_iter().collect();
        for pair in tokens.windows(2) {
            match pair {
                [TokenTree::Ident(keyword), TokenTree::Ident(name)]
                    if KEYWORDS.iter().any(|word| keyword == word) =>
                {
                    self.define(name, Namespace::Types);
                }
                _ => {}
            }
        }
    }

    fn with_parameters(&mut self, signature: &syn::Signature, visit: impl FnOnce(&mut Self)) {
        let outer = self.parameters.len();
        for input in &signature.inputs {
            let syn::FnArg::Typed(typed) = input else {
                continue;
            };
            if let syn::Pat::Ident(name) = &*typed.pat {
                let parameter = (name.ident.to_string(), type_names(&typed.ty));
                self.parameters.push(parameter);
            }
        }
        self.note_unsafety(signature.unsafety.as_ref());
        visit(self);
        self.parameters.truncate(outer);
    }
}

impl<'ast> Visit<'ast> for Reader<'_> {
    fn visit_item(&mut self, item: &'ast syn::Item) {
        let (name, attributes) = parts_of_item(item);
        let is_skipped = self.skips(attributes);
        if let Some((name, namespace)) = name {
            self.define(name, namespace);
        }
        match item {
            _ if !is_skipped => visit::visit_item(self, item),
            // Files for tests are read all the same, and name what is imported for tests.
            syn::Item::Mod(module) if module.content.is_none() => self.declare_child(module),
            syn::Item::Use(item) => {
                self.is_silent = true;
                self.visit_item_use(item);
                self.is_silent = false;
            }
            _ => {}
        }
    }

    fn visit_item_mod(&mut self, item: &'ast syn::ItemMod) {
        let Some((_, items)) = &item.content else {
            return self.declare_child(item);
        };
        let name = item.ident.to_string();
        self.module().children.insert(name.clone());
        self.module.push(name);
        let file = self.file;
        self.module().files.insert(file);
        for item in items {
            self.visit_item(item);
        }
        self.module.pop();
    }

    fn visit_item_use(&mut self, item: &'ast syn::ItemUse) {
        let mut prefix = Vec::new();
        if item.leading_colon.is_some() {
            prefix.push(String::from(GLOBAL));
        }
        self.import(&item.tree, &mut prefix);
    }

    fn visit_item_extern_crate(&mut self, item: &'ast syn::ItemExternCrate) {
        let path = if item.ident == "self" {
            vec![String::from("crate")]
        } else {
            vec![String::from(GLOBAL), item.ident.to_string()]
        };
        let name = item.rename.as_ref().map_or(&item.ident, |(_, name)| name);
        let binding = Binding {
            name: name.to_string(),
            path: path.clone(),
            file: self.file,
        };
        self.module().bindings.push(binding);
        self.refer(path, item.ident.span(), Role::Import(name.to_string()));
    }

    fn visit_item_macro(&mut self, item: &'ast syn::ItemMacro) {
        if item.ident.is_some() {
            return self.scan(item.mac.tokens.clone(), true);
        }
        self.define_by_macro(item.mac.tokens.clone());
        self.visit_macro(&item.mac);
    }

    fn visit_item_impl(&mut self, item: &'ast syn::ItemImpl) {
        self.note_unsafety(item.unsafety.as_ref());
        let outer = self.owner.take();
        if let syn::Type::Path(owner) = &*item.self_ty {
            let owner = Owner {
                scope: self.module.clone(),
                path: segments(&owner.path),
            };
            for function in &item.items {
                match function {
                    syn::ImplItem::Fn(function) if !self.skips(&function.attrs) => {
                        let name = function.sig.ident.to_string();
                        self.note_method(&owner, name, item.trait_.is_some());
                    }
                    _ => {}
                }
            }
            self.owner = Some(owner);
        }
        visit::visit_item_impl(self, item);
        self.owner = outer;
    }

    fn visit_item_fn(&mut self, item: &'ast syn::ItemFn) {
        self.with_parameters(&item.sig, |this| visit::visit_item_fn(this, item));
    }

    fn visit_impl_item_fn(&mut self, item: &'ast syn::ImplItemFn) {
        self.with_parameters(&item.sig, |this| visit::visit_impl_item_fn(this, item));
    }

    fn visit_trait_item_fn(&mut self, item: &'ast syn::TraitItemFn) {
        let name = item.sig.ident.to_string();
        self.file().trait_functions.insert(name);
        self.with_parameters(&item.sig, |this| visit::visit_trait_item_fn(this, item));
    }

    fn visit_impl_item(&mut self, item: &'ast syn::ImplItem) {
        if !self.skips(attributes_of_impl_item(item)) {
            visit::visit_impl_item(self, item);
        }
    }

    fn visit_item_trait(&mut self, item: &'ast syn::ItemTrait) {
        self.note_unsafety(item.unsafety.as_ref());
        visit::visit_item_trait(self, item);
    }

    fn visit_item_foreign_mod(&mut self, item: &'ast syn::ItemForeignMod) {
        self.note_unsafe(item.span());
        visit::visit_item_foreign_mod(self, item);
    }

    fn visit_expr_unsafe(&mut self, expr: &'ast syn::ExprUnsafe) {
        self.note_unsafe(expr.unsafe_token.span);
        visit::visit_expr_unsafe(self, expr);
    }

    fn visit_field(&mut self, field: &'ast syn::Field) {
        if self.skips(&field.attrs) {
            return;
        }
        if let Some(name) = &field.ident {
            let name = name.to_string();
            let type_names = type_names(&field.ty);
            self.file().fields.push(Field { name, type_names });
        }
        visit::visit_field(self, field);
    }

    fn visit_fields_unnamed(&mut self, fields: &'ast syn::FieldsUnnamed) {
        for (index, field) in fields.unnamed.iter().enumerate() {
            let name = index.to_string();
            let type_names = type_names(&field.ty);
            self.file().fields.push(Field { name, type_names });
        }
        visit::visit_fields_unnamed(self, fields);
    }

    fn visit_local(&mut self, local: &'ast syn::Local) {
        if !self.skips(&local.attrs) {
            visit::visit_local(self, local);
        }
    }

    fn visit_arm(&mut self, arm: &'ast syn::Arm) {
        if !self.skips(&arm.attrs) {
            visit::visit_arm(self, arm);
        }
    }

    fn visit_expr_block(&mut self, block: &'ast syn::ExprBlock) {
        if !self.skips(&block.attrs) {
            visit::visit_expr_block(self, block);
        }
    }

    fn visit_expr_method_call(&mut self, call: &'ast syn::ExprMethodCall) {
        let receiver = self.receiver(&call.receiver);
        self.call(&call.method, call.method.span(), receiver);
        visit::visit_expr_method_call(self, call);
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        let names = segments(path);
        match (&self.owner, names.as_slice()) {
            // A function of the type itself.
            (Some(owner), [first, name]) if first == "Self" => {
                let receiver = Receiver::This(owner.clone());
                self.call(name, path.span(), receiver);
            }
            (_, [first, ..]) if first == "Self" => {}
            _ => self.refer(names, path.span(), Role::Path),
        }
        visit::visit_path(self, path);
    }

    fn visit_macro(&mut self, mac: &'ast syn::Macro) {
        self.refer(segments(&mac.path), mac.path.span(), Role::Macro);
        self.scan(mac.tokens.clone(), false);
    }

    fn visit_attribute(&mut self, attribute: &'ast syn::Attribute) {
        if attribute.path().is_ident("unsafe") {
            self.note_unsafe(attribute.span());
        }
    }

    // `pub(in path)` uses nothing.
    fn visit_visibility(&mut self, _visibility: &'ast syn::Visibility) {}
}

fn segments(path: &syn::Path) -> Vec<String> {
    let global = path.leading_colon.map(|_| String::from(GLOBAL));
    let names = path
        .segments
        .iter()
        .map(|segment| segment.ident.to_string());
    global.into_iter().chain(names).collect()
}

/// All identifiers in a type.
fn type_names(ty: &syn::Type) -> BTreeSet<String> {
    struct Names(BTreeSet<String>);
    impl Visit<'_> for Names {
        fn visit_ident(&mut self, ident: &syn::Ident) {
            self.0.insert(ident.to_string());
        }
    }
    let mut names = Names(BTreeSet::new());
    names.visit_type(ty);
    names.0
}

fn is_punct(token: &TokenTree, sign: char) -> bool {
    matches!(token, TokenTree::Punct(punct) if punct.as_char() == sign)
}

fn is_colons(tokens: &[TokenTree], at: usize) -> bool {
    let is_colon = |at: usize| tokens.get(at).is_some_and(|token| is_punct(token, ':'));
    is_colon(at) && is_colon(at + 1)
}

/// Whether the arguments of a call, or a turbofish, stand here.
fn is_called(tokens: &[TokenTree], at: usize) -> bool {
    let is_group = matches!(
        tokens.get(at),
        Some(TokenTree::Group(group)) if group.delimiter() == Delimiter::Parenthesis
    );
    is_group || is_colons(tokens, at)
}
