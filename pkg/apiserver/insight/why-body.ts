/** The body of a question: what it may contain, and what is wrong with others. */
import { messageOf } from '#apimachinery/errors/message.js';
import { badRequest } from '#apimachinery/errors/status.js';

/** Asks about an object. */
export interface QuestionTarget {
  /** Absent: the first served version with that kind. */
  readonly apiVersion?: string;
  readonly kind: string;
  readonly namespace?: string;
  readonly name: string;
}

/** Asks about a request. */
export interface QuestionAccess {
  readonly verb: string;
  readonly group?: string;
  readonly resource?: string;
  readonly subresource?: string;
  readonly namespace?: string;
  readonly name?: string;
  readonly path?: string;
  /** Absent: the client's own user. */
  readonly user?: string;
  readonly groups?: readonly string[];
}

export type WhySpec =
  | { readonly subject: QuestionTarget; readonly access?: undefined }
  | { readonly access: QuestionAccess; readonly subject?: undefined };

/** Longest text of a field. */
const maxLength = 1024;
/** Most groups. */
const maxGroups = 1000;

const subjectFields = ['apiVersion', 'kind', 'namespace', 'name'];
const accessFields = ['verb', 'group', 'resource', 'subresource', 'namespace', 'name', 'path', 'user', 'groups'];

type Fields = Readonly<Record<string, unknown>>;

/** Throws 400, with the field that is wrong. */
export function parseWhy(body: Buffer, apiVersion: string): WhySpec {
  let value: unknown;
  try {
    value = JSON.parse(body.toString('utf8'));
  } catch (error) {
    throw badRequest(`the body is not JSON: ${messageOf(error)}`, error);
  }
  const why = fieldsOf(value, 'the body', ['apiVersion', 'kind', 'metadata', 'spec', 'status']);
  if (why['apiVersion'] !== undefined && why['apiVersion'] !== apiVersion) {
    throw badRequest(`apiVersion: must be ${apiVersion}`);
  }
  if (why['kind'] !== undefined && why['kind'] !== 'Why') throw badRequest('kind: must be Why');
  const spec = fieldsOf(why['spec'], 'spec', ['subject', 'access']);
  const [about, other] = Object.keys(spec);
  if (about === undefined || other !== undefined) throw badRequest('spec: must have either subject or access');
  if (about === 'subject') return { subject: subjectOf(spec['subject']) };
  return { access: accessOf(spec['access']) };
}

function subjectOf(value: unknown): QuestionTarget {
  const fields = fieldsOf(value, 'spec.subject', subjectFields);
  const { kind = '', name = '', ...others } = textsOf(fields, 'spec.subject');
  if (kind === '') throw badRequest('spec.subject.kind: must be set');
  if (name === '') throw badRequest('spec.subject.name: must be set');
  if (name.includes('/')) throw badRequest('spec.subject.name: must not contain a slash');
  return { kind, name, ...others };
}

function accessOf(value: unknown): QuestionAccess {
  const { groups, ...fields } = fieldsOf(value, 'spec.access', accessFields);
  const { verb = '', ...others } = textsOf(fields, 'spec.access');
  if (verb === '') throw badRequest('spec.access.verb: must be set');
  const { path = '', resource = '', user = '' } = others;
  if ((path === '') === (resource === '')) throw badRequest('spec.access: must have either resource or path');
  if (groups === undefined) return { verb, ...others };
  if (user === '') throw badRequest('spec.access.groups: needs a user');
  const isList = Array.isArray(groups) && groups.length <= maxGroups;
  if (!isList || !groups.every((group) => typeof group === 'string' && group.length <= maxLength)) {
    throw badRequest(`spec.access.groups: must be at most ${maxGroups} texts`);
  }
  return { verb, ...others, groups: groups as readonly string[] };
}

function fieldsOf(value: unknown, at: string, names: readonly string[]): Fields {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw badRequest(`${at}: must be an object`);
  const unknown = Object.keys(value).find((name) => !names.includes(name));
  if (unknown !== undefined) throw badRequest(`${at}: unknown field ${JSON.stringify(unknown.slice(0, maxLength))}`);
  return value as Fields;
}

/** The fields that are set. */
function textsOf(fields: Fields, at: string): Partial<Record<string, string>> {
  const texts: Record<string, string> = {};
  for (const [name, value] of Object.entries(fields)) {
    if (typeof value !== 'string') throw badRequest(`${at}.${name}: must be a text`);
    if (value.length > maxLength) throw badRequest(`${at}.${name}: must have at most ${maxLength} characters`);
    if (value !== '') texts[name] = value;
  }
  return texts;
}
