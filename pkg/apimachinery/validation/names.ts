/**
 * Forms of names, labels and values. Each function gives the reasons why a text is refused, none when it is fine; the
 * texts are those that clients of release 1.24 see (apimachinery/pkg/util/validation/validation.go).
 */

/** Reasons why a name is refused, none when it is fine. */
export type NameValidator = (name: string) => string[];

const qualifiedNameForm = '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]';
const labelForm = '[a-z0-9]([-a-z0-9]*[a-z0-9])?';
const subdomainForm = `${labelForm}(\\.${labelForm})*`;
const label1035Form = '[a-z]([-a-z0-9]*[a-z0-9])?';

const qualifiedName = new RegExp(`^${qualifiedNameForm}$`);
const dnsLabel = new RegExp(`^${labelForm}$`);
const dns1035Label = new RegExp(`^${label1035Form}$`);
const subdomainCharacters = /^[a-z0-9-]+$/;

export const maxSubdomainLength = 253;
export const maxLabelLength = 63;

export function maxLengthMessage(limit: number): string {
  return `must be no more than ${limit} characters`;
}

export function inclusiveRangeMessage(low: number, high: number): string {
  return `must be between ${low} and ${high}, inclusive`;
}

/** What is said of a text that does not have the form of a regular expression. */
export function patternMessage(rule: string, pattern: string, ...examples: string[]): string {
  if (examples.length === 0) return `${rule} (regex used for validation is '${pattern}')`;
  const shown = examples.map((example) => `'${example}', `).join(' or ');
  return `${rule} (e.g. ${shown}regex used for validation is '${pattern}')`;
}

const alphanumericEnds = 'and must start and end with an alphanumeric character';
const qualifiedNameRule = patternMessage(
  `must consist of alphanumeric characters, '-', '_' or '.', ${alphanumericEnds}`,
  qualifiedNameForm,
  'MyName',
  'my.name',
  '123-abc',
);
const labelValueRule = patternMessage(
  `a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', ${alphanumericEnds}`,
  `(${qualifiedNameForm})?`,
  'MyValue',
  'my_value',
  '12345',
);
const subdomainRule = patternMessage(
  `a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', ${alphanumericEnds}`,
  subdomainForm,
  'example.com',
);
const labelRule = patternMessage(
  `a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', ${alphanumericEnds}`,
  labelForm,
  'my-name',
  '123-abc',
);
const label1035Rule = patternMessage(
  "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character",
  label1035Form,
  'my-name',
  'abc-123',
);

/** A prefix may end in a dash, since something follows it: checks go on as if it ended in a letter. */
export function maskTrailingDash(prefix: string): string {
  return prefix.length > 1 && prefix.endsWith('-') ? `${prefix.slice(0, -2)}a` : prefix;
}

/** A label of RFC 1123: `my-name`. */
export function dns1123LabelErrors(text: string): string[] {
  const errors: string[] = [];
  if (text.length > maxLabelLength) errors.push(maxLengthMessage(maxLabelLength));
  if (!dnsLabel.test(text)) errors.push(labelRule);
  return errors;
}

/** A subdomain of RFC 1123, the form of most names: `my-name.example.com`. */
export function dns1123SubdomainErrors(text: string): string[] {
  const errors: string[] = [];
  if (text.length > maxSubdomainLength) errors.push(maxLengthMessage(maxSubdomainLength));
  // Label by label: one regular expression for all of them backtracks badly on hostile texts.
  const fine = text.split('.').every((l) => subdomainCharacters.test(l) && !l.startsWith('-') && !l.endsWith('-'));
  if (!fine) errors.push(subdomainRule);
  return errors;
}

/** A label of RFC 1035, the form of Service names: begins with a letter. */
export function dns1035LabelErrors(text: string): string[] {
  const errors: string[] = [];
  if (text.length > maxLabelLength) errors.push(maxLengthMessage(maxLabelLength));
  if (!dns1035Label.test(text)) errors.push(label1035Rule);
  return errors;
}

/** The key of a label or annotation: `app`, `example.com/app`. */
export function qualifiedNameErrors(text: string): string[] {
  const parts = text.split('/');
  if (parts.length > 2) {
    return [
      `a qualified name ${qualifiedNameRule} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')`,
    ];
  }
  const errors: string[] = [];
  const name = parts.at(-1) ?? '';
  const prefix = parts.length === 2 ? parts[0] : undefined;
  if (prefix === '') errors.push('prefix part must be non-empty');
  else if (prefix !== undefined) errors.push(...dns1123SubdomainErrors(prefix).map((e) => `prefix part ${e}`));
  if (name === '') errors.push('name part must be non-empty');
  else if (name.length > maxLabelLength) errors.push(`name part ${maxLengthMessage(maxLabelLength)}`);
  if (!qualifiedName.test(name)) errors.push(`name part ${qualifiedNameRule}`);
  return errors;
}

/** The value of a label; empty is fine. */
export function labelValueErrors(text: string): string[] {
  const errors: string[] = [];
  if (text.length > maxLabelLength) errors.push(maxLengthMessage(maxLabelLength));
  if (text !== '' && !qualifiedName.test(text)) errors.push(labelValueRule);
  return errors;
}
