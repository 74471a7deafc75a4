//! Enums whose values have names and numbers.

/// Declares such an enum: `ALL` lists the values in the order of their numbers, which begin with 0; `name` is that of the
/// variant, or the text after `=`.
macro_rules! named_enum {
    ($(#[$of_all:meta])* pub enum $type:ident { $($(#[$of_one:meta])* $one:ident $(= $name:literal)?,)+ }) => {
        $(#[$of_all])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[repr(u8)]
        pub enum $type { $($(#[$of_one])* $one,)+ }

        impl $type {
            /// All in the order of their numbers.
            pub const ALL: [$type; [$(stringify!($one)),+].len()] = [$($type::$one),+];

            /// Name in tables, CSV and JSON.
            pub const fn name(self) -> &'static str {
                match self { $($type::$one => $crate::named_enum::named_enum!(@name $one $($name)?),)+ }
            }
        }
    };
    (@name $one:ident) => { stringify!($one) };
    (@name $one:ident $name:literal) => { $name };
}
pub(crate) use named_enum;
