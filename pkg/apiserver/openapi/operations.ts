/** The operations of a resource as OpenAPI paths. */
import type { Dialect } from '#apimachinery/dialect.js';
import type { SubresourceDeclaration } from '#apimachinery/schema/schema.js';
import type { Scheme } from '#apimachinery/schema/scheme.js';
import type { TypeInfo } from '#apimachinery/schema/type-info.js';
import type {
  OperationDocument,
  ParameterDocument,
  PathDocument,
  SchemaDocument,
} from '#apiserver/openapi/document-types.js';
import { extend } from '#apiserver/openapi/names.js';
import type { OpenApiVersion, SchemaCollector } from '#apiserver/openapi/schemas.js';
import { applyGate, fieldValidationGate } from '#apiserver/registry/write-request.js';
import type { DescribedResource } from '#apiserver/resources/served-resource.js';

interface Verb {
  readonly method: string;
  readonly action: string;
  readonly words: string;
  readonly query: readonly string[];
  /** Types that document the query parameters. */
  readonly options: readonly string[];
  readonly body?: 'object' | 'patch' | 'options';
  readonly created?: true;
}

const write = ['dryRun', 'fieldManager', 'fieldValidation'];
const select = ['allowWatchBookmarks', 'continue', 'fieldSelector', 'labelSelector', 'limit', 'resourceVersion'];
const list = [...select, 'resourceVersionMatch', 'timeoutSeconds', 'watch'];
const remove = ['dryRun', 'gracePeriodSeconds', 'orphanDependents', 'propagationPolicy'];

const verbs: Readonly<Record<string, Verb>> = {
  get: { method: 'get', action: 'get', words: 'read the specified', query: [], options: [] },
  list: { method: 'get', action: 'list', words: 'list or watch objects of kind', query: list, options: ['List'] },
  create: {
    method: 'post',
    action: 'post',
    words: 'create',
    query: write,
    options: ['Create'],
    body: 'object',
    created: true,
  },
  update: {
    method: 'put',
    action: 'put',
    words: 'replace the specified',
    query: write,
    options: ['Update'],
    body: 'object',
    created: true,
  },
  patch: {
    method: 'patch',
    action: 'patch',
    words: 'partially update the specified',
    query: [...write, 'force'],
    options: ['Patch'],
    body: 'patch',
    created: true,
  },
  delete: {
    method: 'delete',
    action: 'delete',
    words: 'delete',
    query: remove,
    options: ['Delete'],
    body: 'options',
  },
  deletecollection: {
    method: 'delete',
    action: 'deletecollection',
    words: 'delete collection of',
    query: [...list, ...remove],
    options: ['List', 'Delete'],
    body: 'options',
  },
};

const integers = new Set(['limit', 'timeoutSeconds', 'gracePeriodSeconds']);
const booleans = new Set(['watch', 'allowWatchBookmarks', 'force', 'orphanDependents']);

const collectionVerbs = ['list', 'create', 'deletecollection'];
const objectVerbs = ['get', 'update', 'patch', 'delete'];

/** Parameters that depend on a feature gate. */
const gated: Readonly<Record<string, string>> = { fieldValidation: fieldValidationGate };

export interface PathsContext {
  readonly scheme: Scheme;
  readonly dialect: Dialect;
  /** True when the feature gate is on. */
  readonly gate: (name: string) => boolean;
  readonly version: OpenApiVersion;
  readonly schemas: SchemaCollector;
}

interface Subject {
  readonly resource: DescribedResource;
  readonly path: string;
  readonly kind: { readonly group: string; readonly version: string; readonly kind: string };
  readonly type: TypeInfo | undefined;
  /** Base of operation names: `Deployment`, `DeploymentScale`. */
  readonly title: string;
}

/** Adds all paths of a resource. */
export function addPaths(
  context: PathsContext,
  resource: DescribedResource,
  paths: Record<string, PathDocument>,
): void {
  const { declaration, group } = resource;
  const root = group === '' ? `/api/${declaration.version}` : `/apis/${group}/${declaration.version}`;
  const scoped = declaration.namespaced ? `${root}/namespaces/{namespace}` : root;
  const collection = `${scoped}/${declaration.resource}`;
  const { kind } = declaration;
  const ownKind = { group, version: declaration.version, kind };
  const type = context.scheme.kind(resource.apiVersion, kind)?.type ?? resource.type;
  const subject: Subject = { resource, path: collection, kind: ownKind, type, title: kind };
  addPath(context, paths, subject, collectionVerbs);
  addPath(context, paths, { ...subject, path: `${collection}/{name}` }, objectVerbs);
  if (declaration.namespaced && declaration.verbs.includes('list')) {
    const everywhere = { ...subject, path: `${root}/${declaration.resource}`, title: `${kind}ForAllNamespaces` };
    addPath(context, paths, everywhere, ['list']);
  }
  for (const sub of declaration.subresources ?? []) {
    addPath(context, paths, subresource(context, subject, sub), sub.verbs, sub.verbs);
  }
}

function subresource({ scheme, dialect }: PathsContext, subject: Subject, sub: SubresourceDeclaration): Subject {
  const { resource } = subject;
  const group = sub.group === undefined ? resource.group : dialect.groupName(sub.group);
  const version = sub.version ?? resource.declaration.version;
  return {
    resource,
    path: `${subject.path}/{name}/${sub.name}`,
    kind: { group, version, kind: sub.kind },
    type: scheme.kindOf(group, version, sub.kind)?.type ?? (sub.group === undefined ? resource.type : undefined),
    title: `${subject.title}${sub.name.charAt(0).toUpperCase()}${sub.name.slice(1)}`,
  };
}

function addPath(
  context: PathsContext,
  paths: Record<string, PathDocument>,
  subject: Subject,
  candidates: readonly string[],
  served: readonly string[] = subject.resource.declaration.verbs,
): void {
  const path: PathDocument = {};
  for (const name of candidates) {
    const verb = verbs[name];
    if (verb !== undefined && served.includes(name)) path[verb.method] = operation(context, subject, verb);
  }
  if (Object.keys(path).length === 0) return;
  const { kind } = subject.resource.declaration;
  const inPath = [...subject.path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) =>
    pathParameter(context, name, name === 'namespace' ? 'Namespace of the object.' : `Name of the ${kind}.`),
  );
  path['parameters'] = [...inPath, queryParameter(context, 'pretty', 'Indents the answer when it is `true`.')];
  paths[subject.path] = path;
}

function operation(context: PathsContext, subject: Subject, verb: Verb): OperationDocument {
  const { version, dialect } = context;
  const scope = subject.path.includes('{namespace}') ? 'Namespaced' : '';
  const body = bodySchema(context, subject, verb);
  const answer = answerSchema(context, subject, verb);
  const isCustom = subject.resource.type.prune !== undefined;
  const media = ['application/json', 'application/yaml', ...(isCustom ? [] : [dialect.protobufMediaType])];
  const supported = isCustom ? customPatchMedia : patchMedia;
  const patches = context.gate(applyGate) ? supported : supported.filter((media) => media !== applyMedia);
  const answered = response(version, answer, media);
  const offered = verb.query.filter((name) => gated[name] === undefined || context.gate(gated[name]));
  const types = verb.options.map((name) => context.scheme.type(`meta.v1.${name}Options`));
  const docOf = (name: string) => types.map((type) => type.byName.get(name)?.doc).find((doc) => doc !== undefined);
  const parameters = offered.map((name) => queryParameter(context, name, docOf(name)));
  const document: OperationDocument = {
    description: `${verb.words} ${subject.kind.kind}`,
    operationId: `${verb.action}${idPart(subject.resource)}${scope}${subject.title}`,
    tags: [idPart(subject.resource)],
    responses: {
      '200': answered,
      ...(verb.created === undefined ? {} : { '201': answered }),
      '401': { description: 'Unauthorized' },
    },
    ...(version === 2
      ? {
          consumes: verb.body === 'patch' ? patches : ['*/*'],
          produces: media,
          parameters: body === undefined ? parameters : [...parameters, bodyParameter(body, verb)],
        }
      : { parameters, ...(body === undefined ? {} : { requestBody: requestBody(body, verb, patches) }) }),
  };
  extend(document, dialect, 'action', verb.action);
  extend(document, dialect, 'group-version-kind', subject.kind);
  return document;
}

const applyMedia = 'application/apply-patch+yaml';
const patchMedia = [
  'application/json-patch+json',
  'application/merge-patch+json',
  'application/strategic-merge-patch+json',
  applyMedia,
];

const customPatchMedia = patchMedia.filter((media) => !media.includes('strategic'));

function bodySchema({ schemas, scheme }: PathsContext, subject: Subject, verb: Verb): SchemaDocument | undefined {
  if (verb.body === undefined) return undefined;
  if (verb.body === 'object') return subject.type === undefined ? {} : schemas.reference(subject.type);
  return schemas.reference(scheme.type(verb.body === 'patch' ? 'meta.v1.Patch' : 'meta.v1.DeleteOptions'));
}

function answerSchema({ schemas, scheme }: PathsContext, subject: Subject, verb: Verb): SchemaDocument {
  if (verb.body === 'options') return schemas.reference(scheme.type('meta.v1.Status'));
  const { resource } = subject;
  const list = verb.action === 'list' ? scheme.kind(resource.apiVersion, `${subject.kind.kind}List`)?.type : undefined;
  const type = list ?? subject.type;
  if (verb.action === 'list' && type?.prune !== undefined) {
    const kind = resource.listKind ?? `${subject.kind.kind}List`;
    return schemas.customList(type, { ...subject.kind, kind });
  }
  return type === undefined ? {} : schemas.reference(type);
}

function response(version: OpenApiVersion, schema: SchemaDocument, media: readonly string[]): object {
  if (version === 2) return { description: 'OK', schema };
  return { description: 'OK', content: Object.fromEntries(media.map((type) => [type, { schema }])) };
}

function requestBody(schema: SchemaDocument, verb: Verb, patches: readonly string[]): object {
  const media = verb.body === 'patch' ? patches : ['*/*'];
  return {
    content: Object.fromEntries(media.map((type) => [type, { schema }])),
    ...(verb.body === 'options' ? {} : { required: true }),
  };
}

function bodyParameter(schema: SchemaDocument, verb: Verb): ParameterDocument {
  return { name: 'body', in: 'body', ...(verb.body === 'options' ? {} : { required: true }), schema };
}

function queryParameter({ version }: PathsContext, name: string, description: string | undefined): ParameterDocument {
  const type = integers.has(name) ? 'integer' : booleans.has(name) ? 'boolean' : 'string';
  const parameter = { name, in: 'query' as const, ...(description === undefined ? {} : { description }) };
  return version === 2 ? { ...parameter, type, uniqueItems: true } : { ...parameter, schema: { type } };
}

function pathParameter({ version }: PathsContext, name: string, description: string): ParameterDocument {
  const parameter = { name, in: 'path' as const, description, required: true };
  return version === 2
    ? { ...parameter, type: 'string', uniqueItems: true }
    : { ...parameter, schema: { type: 'string' } };
}

/** `AppsV1`, `CoreV1`. */
function idPart({ declaration }: DescribedResource): string {
  const capital = (text: string) => text.charAt(0).toUpperCase() + text.slice(1);
  return `${declaration.group.split('.').map(capital).join('')}${capital(declaration.version)}`;
}
