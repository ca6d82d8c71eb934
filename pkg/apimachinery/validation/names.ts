/**
 * Validators of names: each returns the messages of release 1.24, or none for a valid name. Lengths are in characters,
 * which equal bytes for valid names: all allowed characters are ASCII.
 */

export type NameValidator = (value: string) => readonly string[];

/** The shared empty result, since nearly all names are valid. */
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

function maxLengthMessage(max: number): string {
  return `must be no more than ${max} characters`;
}

/** `must be between a and b, inclusive`. */
export function inclusiveRangeMessage(low: number, high: number): string {
  return `must be between ${low} and ${high}, inclusive`;
}

/** Explains a pattern with examples; 1.24 also prints the double space before `or`. */
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
 * The following functions match characters from `start` to before `end` by hand: every write validates dozens of names,
 * and this is several times cheaper than regular expressions and cannot backtrack.
 */

function isLowerAlphanumeric(code: number): boolean {
  return (code >= 97 && code <= 122) || (code >= 48 && code <= 57);
}

function isAlphanumeric(code: number): boolean {
  return isLowerAlphanumeric(code) || (code >= 65 && code <= 90);
}

/** Matches `dns1123Label` of the messages. */
function isLabel(value: string, start: number, end: number): boolean {
  if (start >= end || !isLowerAlphanumeric(value.charCodeAt(end - 1))) return false;
  if (!isLowerAlphanumeric(value.charCodeAt(start))) return false;
  for (let at = start + 1; at < end - 1; at++) {
    const code = value.charCodeAt(at);
    if (!isLowerAlphanumeric(code) && code !== 45) return false;
  }
  return true;
}

/** Labels separated by dots. */
function isSubdomain(value: string, start: number, end: number): boolean {
  let from = start;
  for (;;) {
    const dot = value.indexOf('.', from);
    if (dot < 0 || dot >= end) return isLabel(value, from, end);
    if (!isLabel(value, from, dot)) return false;
    from = dot + 1;
  }
}

/** Matches `qualifiedName` of the messages. */
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

/** Whether `qualifiedNameErrors` returns no errors. */
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

/** A label value; may be empty. */
export function labelValueErrors(value: string): readonly string[] {
  return check(value, maxLabelLength, value === '' || isNamePart(value, 0, value.length), messages.labelValue);
}

/** A name that is one segment of a URL path, the only requirement for names of roles and bindings. */
export function pathSegmentErrors(value: string): readonly string[] {
  if (value === '.' || value === '..') return [`may not be '${value}'`];
  if (!value.includes('/') && !value.includes('%')) return noErrors;
  return ['/', '%'].filter((character) => value.includes(character)).map((c) => `may not contain '${c}'`);
}

/**
 * Prepares a `generateName` prefix for a validator: replaces a trailing dash, which the generated suffix will follow,
 * by a valid last character.
 */
export function maskTrailingDash(value: string): string {
  return value.length > 1 && value.endsWith('-') ? `${value.slice(0, -2)}a` : value;
}

const envName = '[-._a-zA-Z][-._a-zA-Z0-9]*';
const configKey = '[-._a-zA-Z0-9]+';
const cIdentifier = '[A-Za-z_][A-Za-z0-9_]*';
const headerName = '[-A-Za-z0-9]+';
const percent = '[0-9]+%';
const maxPortNameLength = 15;

function whole(pattern: string): RegExp {
  return new RegExp(`^(?:${pattern})$`);
}

const patterns = {
  envName: whole(envName),
  configKey: whole(configKey),
  cIdentifier: whole(cIdentifier),
  headerName: whole(headerName),
  percent: whole(percent),
  /** Without a hyphen at either end. */
  portName: whole('[a-z0-9]([-a-z0-9]*[a-z0-9])?'),
};

/** Formatted once: a hostile object may have a hundred thousand invalid names. */
const identifierMessages = {
  envName: patternMessage(
    "a valid environment variable name must consist of alphabetic characters, digits, '_', '-', or '.', and must not start with a digit",
    envName,
    'my.env-name',
    'MY_ENV.NAME',
    'MyEnvName1',
  ),
  configKey: patternMessage(
    "a valid config key must consist of alphanumeric characters, '-', '_' or '.'",
    configKey,
    'key.name',
    'KEY_NAME',
    'key-name',
  ),
  cIdentifier: patternMessage(
    "a valid C identifier must start with alphabetic character or '_', followed by a string of alphanumeric characters or '_'",
    cIdentifier,
    'my_name',
    'MY_NAME',
    'MyName',
  ),
  headerName: patternMessage(
    "a valid HTTP header must consist of alphanumeric characters or '-'",
    headerName,
    'X-Header-Name',
  ),
  percent: patternMessage(
    "a valid percent string must be a numeric string followed by an ending '%'",
    percent,
    '1%',
    '93%',
  ),
};

const badConfigKey = [identifierMessages.configKey];

/** Names that would leave a directory when used as file names. */
function relativePathErrors(value: string): readonly string[] {
  if (!value.startsWith('.')) return noErrors;
  if (value === '.') return ["must not be '.'"];
  if (value === '..') return ["must not be '..'"];
  return value.startsWith('..') ? ["must not start with '..'"] : noErrors;
}

/** Name of an environment variable. */
export function envVarNameErrors(value: string): readonly string[] {
  if (patterns.envName.test(value)) return relativePathErrors(value);
  return [identifierMessages.envName, ...relativePathErrors(value)];
}

/** Key of a config map or secret. */
export function configKeyErrors(value: string): readonly string[] {
  if (value.length <= maxSubdomainLength && patterns.configKey.test(value)) return relativePathErrors(value);
  if (value.length <= maxSubdomainLength && !value.startsWith('.')) return badConfigKey;
  const errors: string[] = [];
  if (value.length > maxSubdomainLength) errors.push(maxLengthMessage(maxSubdomainLength));
  if (!patterns.configKey.test(value)) {
    errors.push(identifierMessages.configKey);
  }
  return [...errors, ...relativePathErrors(value)];
}

/** Identifier of the C language. */
export function cIdentifierErrors(value: string): readonly string[] {
  if (patterns.cIdentifier.test(value)) return noErrors;
  return [identifierMessages.cIdentifier];
}

/** Name of an HTTP header. */
export function httpHeaderNameErrors(value: string): readonly string[] {
  if (patterns.headerName.test(value)) return noErrors;
  return [identifierMessages.headerName];
}

/** `50%`. */
export function percentErrors(value: string): readonly string[] {
  if (patterns.percent.test(value)) return noErrors;
  return [identifierMessages.percent];
}

/** Whether `portNameErrors` returns no errors. */
function isPortName(value: string): boolean {
  if (value.length > maxPortNameLength || !patterns.portName.test(value)) return false;
  return /[a-z]/.test(value) && !value.includes('--');
}

/** Name of a port: an IANA service name (RFC 6335). */
export function portNameErrors(value: string): readonly string[] {
  if (isPortName(value)) return noErrors;
  const errors: string[] = [];
  if (value.length > maxPortNameLength) errors.push(maxLengthMessage(maxPortNameLength));
  if (!/^[-a-z0-9]+$/.test(value)) {
    errors.push('must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)');
  }
  if (!/[a-z]/.test(value)) errors.push('must contain at least one letter or number (a-z, 0-9)');
  if (value.includes('--')) errors.push('must not contain consecutive hyphens');
  if (value.startsWith('-') || value.endsWith('-')) errors.push('must not begin or end with a hyphen');
  return errors;
}

/** Number of a TCP, UDP or SCTP port. */
export function portNumberErrors(value: number): readonly string[] {
  return value >= 1 && value <= 65535 ? noErrors : [inclusiveRangeMessage(1, 65535)];
}

/** Numeric user or group id: the kernel reserves `-1`, and larger values do not fit. */
export function userOrGroupErrors(value: number | bigint): readonly string[] {
  return value >= 0 && value <= 2147483647 ? noErrors : [inclusiveRangeMessage(0, 2147483647)];
}
