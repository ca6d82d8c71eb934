/**
 * A deep copy of a value, or a new value, that its owner may modify. API types are deeply readonly, because caches,
 * informers and requests share their objects. Code that modifies an object takes a draft, which the compiler does not
 * accept a shared object for.
 */

/** Managed fields are shared even by copies, see `FieldSet`. */
type AlwaysShared = 'fieldsV1';

/** The type with all parts writable. */
export type Draft<T> = {
  -readonly [K in keyof T]: K extends AlwaysShared ? T[K] : unknown extends T[K] ? T[K] : Draft<T[K]>;
};

/** The type with its own members writable: each may be replaced, but not modified. */
export type Replaceable<T> = { -readonly [K in keyof T]: T[K] };
