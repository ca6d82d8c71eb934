/**
 * Validators of names: each returns the messages of release 1.24, none when the name is good. Lengths are in
 * characters; the allowed alphabets are ASCII, so these are bytes as well for anything that passes.
 */

export type NameValidator = (value: string) => readonly string[];

/** What validators return of good names: one list, since nearly all names are good. */
export const noErrors: readonly string[] = Object.freeze([]);

const dns1123Label = '[a-z0-9]([-a-z0-9]*[a-z0-9])?';
const dns1123Subdomain = `${dns1123Label}(\\.${dns1123Label})*`;
const dns1035Label = '[a-z]([-a-z0-9]*[a-z0-9])?';
const qualifiedName = '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]';
const labelValue = `(${qualifiedName})?`;
const wildcardSubdomain = `\\*\\.${dns1123Subdomain}`;

/** Longest DNS label (RFC 1123), label value and name part of a qualified name. */
export const maxLabelLength = 63;
/** Longest DNS subdomain. */
export const maxSubdomainLength = 253;

const emptyMessage = 'must be non-empty';

export function maxLengthMessage(max: number): string {
  return `must be no more than ${max} characters`;
}

/** `must be between a and b, inclusive`. */
export function inclusiveRangeMessage(low: number, high: number): string {
  return `must be between ${low} and ${high}, inclusive`;
}

/** Explains a pattern with examples; the odd double space before `or` is what 1.24 prints. */
export function patternMessage(text: string, pattern: string, ...examples: string[]): string {
  const shown = examples.map((example) => `'${example}', `).join(' or ');
  const prefix = examples.length === 0 ? '' : `e.g. ${shown}`;
  return `${text} (${prefix}regex used for validation is '${pattern}')`;
}

const messages = {
  dns1123Label: patternMessage(
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character",
    dns1123Label,
    'my-name',
    '123-abc',
  ),
  dns1123Subdomain: patternMessage(
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character",
    dns1123Subdomain,
    'example.com',
  ),
  dns1035Label: patternMessage(
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character",
    dns1035Label,
    'my-name',
    'abc-123',
  ),
  wildcardSubdomain: patternMessage(
    "a wildcard DNS-1123 subdomain must start with '*.', followed by a valid DNS subdomain, which must consist of lower case alphanumeric characters, '-' or '.' and end with an alphanumeric character",
    wildcardSubdomain,
    '*.example.com',
  ),
  qualifiedName: patternMessage(
    "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character",
    qualifiedName,
    'MyName',
    'my.name',
    '123-abc',
  ),
  labelValue: patternMessage(
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character",
    labelValue,
    'MyValue',
    'my_value',
    '12345',
  ),
};

/*
 * The patterns are looked for by hand, from a first character up to but without `end`: every write asks of dozens of
 * names, so this is several times cheaper than the regular expressions, and no text can make it backtrack.
 */

function isLowerAlphanumeric(code: number): boolean {
  return (code >= 97 && code <= 122) || (code >= 48 && code <= 57);
}

function isAlphanumeric(code: number): boolean {
  return isLowerAlphanumeric(code) || (code >= 65 && code <= 90);
}

/** `dns1123Label` of the messages. */
function isLabel(value: string, start: number, end: number): boolean {
  if (start >= end || !isLowerAlphanumeric(value.charCodeAt(end - 1))) return false;
  if (!isLowerAlphanumeric(value.charCodeAt(start))) return false;
  for (let at = start + 1; at < end - 1; at++) {
    const code = value.charCodeAt(at);
    if (!isLowerAlphanumeric(code) && code !== 45) return false;
  }
  return true;
}

/** Labels with dots between them. */
function isSubdomain(value: string, start: number, end: number): boolean {
  let from = start;
  for (;;) {
    const dot = value.indexOf('.', from);
    if (dot < 0 || dot >= end) return isLabel(value, from, end);
    if (!isLabel(value, from, dot)) return false;
    from = dot + 1;
  }
}

/** `qualifiedName` of the messages. */
function isNamePart(value: string, start: number, end: number): boolean {
  if (start >= end || !isAlphanumeric(value.charCodeAt(end - 1))) return false;
  if (!isAlphanumeric(value.charCodeAt(start))) return false;
  for (let at = start + 1; at < end - 1; at++) {
    const code = value.charCodeAt(at);
    // `-`, `.` and `_`
    if (!isAlphanumeric(code) && code !== 45 && code !== 46 && code !== 95) return false;
  }
  return true;
}

function startsWithLowerLetter(value: string): boolean {
  const code = value.charCodeAt(0);
  return code >= 97 && code <= 122;
}

function check(value: string, max: number, fits: boolean, message: string): readonly string[] {
  if (fits && value.length <= max) return noErrors;
  const errors: string[] = [];
  if (value.length > max) errors.push(maxLengthMessage(max));
  if (!fits) errors.push(message);
  return errors;
}

/** A DNS label: names of namespaces, containers, volumes, … */
export function dns1123LabelErrors(value: string): readonly string[] {
  return check(value, maxLabelLength, isLabel(value, 0, value.length), messages.dns1123Label);
}

/** A DNS subdomain: names of most objects. */
export function dns1123SubdomainErrors(value: string): readonly string[] {
  return check(value, maxSubdomainLength, isSubdomain(value, 0, value.length), messages.dns1123Subdomain);
}

/** A DNS label that starts with a letter: names of services. */
export function dns1035LabelErrors(value: string): readonly string[] {
  const fits = startsWithLowerLetter(value) && isLabel(value, 0, value.length);
  return check(value, maxLabelLength, fits, messages.dns1035Label);
}

/** `*.` and a DNS subdomain: hosts of ingresses. */
export function wildcardSubdomainErrors(value: string): readonly string[] {
  const fits = value.startsWith('*.') && isSubdomain(value, 2, value.length);
  return check(value, maxSubdomainLength, fits, messages.wildcardSubdomain);
}

/** Whether `qualifiedNameErrors` finds nothing. */
export function isQualifiedName(value: string): boolean {
  const { length } = value;
  const slash = value.indexOf('/');
  if (length - slash - 1 > maxLabelLength || !isNamePart(value, slash + 1, length)) return false;
  return slash < 0 || (slash <= maxSubdomainLength && isSubdomain(value, 0, slash));
}

/** `[prefix/]name`: keys of labels, annotations, taints, resources, conditions, finalizers. */
export function qualifiedNameErrors(value: string): readonly string[] {
  if (isQualifiedName(value)) return noErrors;
  const parts = value.split('/');
  if (parts.length > 2) {
    const suffix = "with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')";
    return [`a qualified name ${messages.qualifiedName} ${suffix}`];
  }
  const errors: string[] = [];
  const name = parts.at(-1) ?? '';
  if (parts.length === 2) {
    const prefix = parts[0] ?? '';
    if (prefix === '') errors.push(`prefix part ${emptyMessage}`);
    else errors.push(...dns1123SubdomainErrors(prefix).map((message) => `prefix part ${message}`));
  }
  if (name === '') errors.push(`name part ${emptyMessage}`);
  else if (name.length > maxLabelLength) errors.push(`name part ${maxLengthMessage(maxLabelLength)}`);
  if (!isNamePart(name, 0, name.length)) errors.push(`name part ${messages.qualifiedName}`);
  return errors;
}

/** The value of a label; may be empty. */
export function labelValueErrors(value: string): readonly string[] {
  return check(value, maxLabelLength, value === '' || isNamePart(value, 0, value.length), messages.labelValue);
}

/** A name that is one segment of a URL path: all that is asked of the names of roles and bindings. */
export function pathSegmentErrors(value: string): readonly string[] {
  if (value === '.' || value === '..') return [`may not be '${value}'`];
  if (!value.includes('/') && !value.includes('%')) return noErrors;
  return ['/', '%'].filter((character) => value.includes(character)).map((c) => `may not contain '${c}'`);
}

/**
 * Makes a `generateName` prefix fit for a validator of names: a trailing dash stands for the suffix to come, so it
 * is replaced by something that is allowed at the end.
 */
export function maskTrailingDash(value: string): string {
  return value.length > 1 && value.endsWith('-') ? `${value.slice(0, -2)}a` : value;
}
