/** Property names as identifiers in expressions. Source: 1.24, …/third_party/forked/celopenapi/model/escaping.go. */

const reserved = new Set(
  `true false null in as break const continue else for function if import let loop package namespace return var void
  while`.split(/\s+/),
);

const escapes: Readonly<Record<string, string>> = {
  __: '__underscores__',
  '.': '__dot__',
  '-': '__dash__',
  '/': '__slash__',
};

const escaped: Readonly<Record<string, string>> = { underscores: '__', dot: '.', dash: '-', slash: '/' };

/** Undefined if expressions cannot name the property. */
export function escapeName(name: string): string | undefined {
  if (name === '' || /^[0-9]/.test(name) || /[^a-zA-Z0-9\-./_]/.test(name)) return undefined;
  if (reserved.has(name)) return `__${name}__`;
  return name.replace(/__|[-./]/g, (part) => escapes[part] ?? part);
}

/** Undefined for an invalid escape. */
export function unescapeName(name: string): string | undefined {
  let valid = true;
  const unescaped = name.replace(/_{2}([^_]+)_{2}/g, (whole, inner: string) => {
    if (Object.hasOwn(escaped, inner)) return escaped[inner] ?? whole;
    if (!reserved.has(inner) || whole !== name) valid = false;
    return inner;
  });
  return valid ? unescaped : undefined;
}
