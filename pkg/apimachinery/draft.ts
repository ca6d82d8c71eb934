/**
 * A deep copy of a value, or a new one, that its holder may change. The types of the API are read only all the way down:
 * what caches, informers and requests give out is shared with others. Whatever is to write into an object asks for a draft
 * of it, which the compiler refuses to make of a shared one.
 */

/** What managers own is shared even by copies, see `FieldSet`. */
type AlwaysShared = 'fieldsV1';

/** The type with everything in it writable. */
export type Draft<T> = {
  -readonly [K in keyof T]: K extends AlwaysShared ? T[K] : unknown extends T[K] ? T[K] : Draft<T[K]>;
};

/** The type with its own members writable: each may be replaced by another value, and no value may be written into. */
export type Replaceable<T> = { -readonly [K in keyof T]: T[K] };
