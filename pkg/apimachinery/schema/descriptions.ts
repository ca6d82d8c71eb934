import type { FieldDeclaration, MessageDeclaration } from '#apimachinery/schema/schema.js';

/** The description of a field: its doc, with declared defaults and ranges unless the doc mentions them. */
export function fieldDescription(field: FieldDeclaration): string | undefined {
  const { doc: said, default: value, minimum, maximum, excludes } = field;
  const alone = said && excludes ? `${said} Not together with ${listed(excludes)}.` : said;
  const doc = alone && withRange(alone, minimum, maximum);
  if (doc === undefined || /Default[ :]/.test(doc)) return doc;
  if (typeof value === 'string' && value !== '') return `${doc} Default \`${value}\`.`;
  return typeof value === 'number' || typeof value === 'boolean' ? `${doc} Default ${value}.` : doc;
}

function withRange(doc: string, minimum = 0, maximum?: number): string {
  if (maximum !== undefined) return doc.includes(`${maximum}`) ? doc : `${doc} From ${minimum} to ${maximum}.`;
  return minimum <= 0 || /minimum/i.test(doc) ? doc : `${doc} Minimum ${minimum}.`;
}

/** The description of a message: its doc, with its mutually exclusive fields. */
export function messageDescription({ doc, fields, union = [] }: MessageDeclaration): string {
  if (union.length < 2) return doc;
  const names = Object.keys(fields);
  const discriminator = names.find((name) => fields[name]?.discriminator !== undefined);
  if (discriminator !== undefined) return `${doc} \`${discriminator}\` names the member that is set.`;
  return `${doc} Exactly one ${names.length === union.length ? 'member' : `of ${listed(union)}`} is set.`;
}

/** `` `a`, `b` or `c` ``. */
export function listed(names: readonly string[]): string {
  const quoted = names.map((name) => `\`${name}\``);
  const last = quoted.pop() ?? '';
  return quoted.length === 0 ? last : `${quoted.join(', ')} or ${last}`;
}
