//! What the attributes of an item say: whether it is for tests only, and where its file is.

use syn::punctuated::Punctuated;

use crate::source::Namespace;

/// Whether an attribute keeps what it stands at out of every build that is not for tests.
pub(crate) fn is_for_tests(attribute: &syn::Attribute) -> bool {
    if attribute.path().is_ident("test") {
        return true;
    }
    attribute.path().is_ident("cfg")
        && attribute
            .parse_args::<syn::Meta>()
            .is_ok_and(|condition| implies_test(&condition))
}

/// The parts of a list like `all(…)` or `cfg_attr(…)`.
fn parts(list: &syn::MetaList) -> Vec<syn::Meta> {
    let parts = list.parse_args_with(Punctuated::<syn::Meta, syn::Token![,]>::parse_terminated);
    parts.into_iter().flatten().collect()
}

fn implies_test(condition: &syn::Meta) -> bool {
    match condition {
        syn::Meta::Path(path) => path.is_ident("test"),
        syn::Meta::List(list) if list.path.is_ident("all") => parts(list).iter().any(implies_test),
        syn::Meta::List(list) if list.path.is_ident("any") => {
            let parts = parts(list);
            !parts.is_empty() && parts.iter().all(implies_test)
        }
        syn::Meta::List(_) | syn::Meta::NameValue(_) => false,
    }
}

/// The files that `#[path = "…"]` and `#[cfg_attr(…, path = "…")]` name.
pub(crate) fn named_files(attributes: &[syn::Attribute]) -> Vec<String> {
    let mut files = Vec::new();
    for attribute in attributes {
        files.extend(named_file(&attribute.meta));
        match &attribute.meta {
            syn::Meta::List(list) if list.path.is_ident("cfg_attr") => {
                files.extend(parts(list).iter().skip(1).filter_map(named_file));
            }
            _ => {}
        }
    }
    files
}

fn named_file(attribute: &syn::Meta) -> Option<String> {
    let syn::Meta::NameValue(pair) = attribute else {
        return None;
    };
    match &pair.value {
        syn::Expr::Lit(syn::ExprLit {
            lit: syn::Lit::Str(file),
            ..
        }) if pair.path.is_ident("path") => Some(file.value()),
        _ => None,
    }
}

/// The name that an item defines, and its attributes.
pub(crate) fn parts_of_item(
    item: &syn::Item,
) -> (Option<(&syn::Ident, Namespace)>, &[syn::Attribute]) {
    use Namespace::{Types, Values};
    match item {
        syn::Item::Const(item) => (Some((&item.ident, Values)), &item.attrs),
        syn::Item::Enum(item) => (Some((&item.ident, Types)), &item.attrs),
        syn::Item::ExternCrate(item) => (None, &item.attrs),
        syn::Item::Fn(item) => (Some((&item.sig.ident, Values)), &item.attrs),
        syn::Item::ForeignMod(item) => (None, &item.attrs),
        syn::Item::Impl(item) => (None, &item.attrs),
        syn::Item::Macro(item) => (item.ident.as_ref().map(|name| (name, Values)), &item.attrs),
        syn::Item::Mod(item) => (None, &item.attrs),
        syn::Item::Static(item) => (Some((&item.ident, Values)), &item.attrs),
        syn::Item::Struct(item) => (Some((&item.ident, Types)), &item.attrs),
        syn::Item::Trait(item) => (Some((&item.ident, Types)), &item.attrs),
        syn::Item::TraitAlias(item) => (Some((&item.ident, Types)), &item.attrs),
        syn::Item::Type(item) => (Some((&item.ident, Types)), &item.attrs),
        syn::Item::Union(item) => (Some((&item.ident, Types)), &item.attrs),
        syn::Item::Use(item) => (None, &item.attrs),
        _ => (None, &[]),
    }
}

pub(crate) fn attributes_of_impl_item(item: &syn::ImplItem) -> &[syn::Attribute] {
    match item {
        syn::ImplItem::Const(item) => &item.attrs,
        syn::ImplItem::Fn(item) => &item.attrs,
        syn::ImplItem::Type(item) => &item.attrs,
        syn::ImplItem::Macro(item) => &item.attrs,
        _ => &[],
    }
}
