/** Validators of identifiers inside specs: messages of release 1.24, none when the value is good. */
import {
  inclusiveRangeMessage,
  maxLengthMessage,
  maxSubdomainLength,
  noErrors,
  patternMessage,
} from '#apimachinery/validation/names.js';

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

/** Made once: a hostile object has a hundred thousand names of the same sort. */
const messages = {
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

const badConfigKey = [messages.configKey];

/** Names that would climb out of a directory when used as file names. */
function climbingErrors(value: string): readonly string[] {
  if (!value.startsWith('.')) return noErrors;
  if (value === '.') return ["must not be '.'"];
  if (value === '..') return ["must not be '..'"];
  return value.startsWith('..') ? ["must not start with '..'"] : noErrors;
}

/** Name of an environment variable. */
export function envVarNameErrors(value: string): readonly string[] {
  if (patterns.envName.test(value)) return climbingErrors(value);
  return [messages.envName, ...climbingErrors(value)];
}

/** Key of a config map or secret. */
export function configKeyErrors(value: string): readonly string[] {
  if (value.length <= maxSubdomainLength && patterns.configKey.test(value)) return climbingErrors(value);
  if (value.length <= maxSubdomainLength && !value.startsWith('.')) return badConfigKey;
  const errors: string[] = [];
  if (value.length > maxSubdomainLength) errors.push(maxLengthMessage(maxSubdomainLength));
  if (!patterns.configKey.test(value)) {
    errors.push(messages.configKey);
  }
  return [...errors, ...climbingErrors(value)];
}

/** Identifier of the C language. */
export function cIdentifierErrors(value: string): readonly string[] {
  if (patterns.cIdentifier.test(value)) return noErrors;
  return [messages.cIdentifier];
}

/** Name of an HTTP header. */
export function httpHeaderNameErrors(value: string): readonly string[] {
  if (patterns.headerName.test(value)) return noErrors;
  return [messages.headerName];
}

/** `50%`. */
export function percentErrors(value: string): readonly string[] {
  if (patterns.percent.test(value)) return noErrors;
  return [messages.percent];
}

/** Whether `portNameErrors` finds nothing. */
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

/** Numeric user or group: the kernel's `-1` and above are not usable. */
export function userOrGroupErrors(value: number | bigint): readonly string[] {
  return value >= 0 && value <= 2147483647 ? noErrors : [inclusiveRangeMessage(0, 2147483647)];
}
