import t from 'tap';
import { schemeFor } from '#api/scheme.js';
import { kubernetesDialect as dialect } from '#apimachinery/dialect.js';
import type { OperationDocument, ParameterDocument, PathDocument } from '#apiserver/openapi/document-types.js';
import { addPaths } from '#apiserver/openapi/operations.js';
import { type OpenApiVersion, SchemaCollector } from '#apiserver/openapi/schemas.js';

const scheme = schemeFor(dialect);

function pathsOf(version: OpenApiVersion, group: string, kind: string): Record<string, PathDocument> {
  const resource = scheme.resources.find((each) => each.declaration.group === group && each.declaration.kind === kind);
  if (resource === undefined) throw new Error(`no resource of kind ${kind}`);
  const paths: Record<string, PathDocument> = {};
  const schemas = new SchemaCollector(dialect, version);
  const { declaration, apiVersion, type } = resource;
  addPaths({ scheme, dialect, gate: () => true, version, schemas }, { declaration, group, apiVersion, type }, paths);
  return paths;
}

/** `METHOD PATH NAME` of each parameter, with its description. */
function descriptions(paths: Readonly<Record<string, PathDocument>>): Map<string, string | undefined> {
  const described = new Map<string, string | undefined>();
  for (const [path, item] of Object.entries(paths)) {
    for (const [method, value] of Object.entries(item)) {
      const parameters = Array.isArray(value)
        ? (value as readonly ParameterDocument[])
        : ((value as OperationDocument).parameters ?? []);
      for (const parameter of parameters)
        if (parameter.in !== 'body') described.set(`${method} ${path} ${parameter.name}`, parameter.description);
    }
  }
  return described;
}

for (const version of [2, 3] as const) {
  t.test(`parameters in OpenAPI ${version} are described as in their options`, async (t) => {
    const described = descriptions(pathsOf(version, 'apps', 'Deployment'));
    t.strictSame(
      [...described].filter(([, description]) => description === undefined),
      [],
      'none is silent',
    );
    const collection = '/apis/apps/v1/namespaces/{namespace}/deployments';
    const docOf = (type: string, field: string) => scheme.type(`meta.v1.${type}`).byName.get(field)?.doc;
    t.equal(described.get(`get ${collection} limit`), docOf('ListOptions', 'limit'));
    t.equal(described.get(`patch ${collection}/{name} force`), docOf('PatchOptions', 'force'));
    t.equal(described.get(`delete ${collection} watch`), docOf('ListOptions', 'watch'));
    t.equal(described.get(`delete ${collection} dryRun`), docOf('DeleteOptions', 'dryRun'));
    t.match(
      described.get(`get ${collection} labelSelector`),
      /list of returned objects/,
      'under the name that clients look for',
    );
    t.match(described.get(`get ${collection} watch`), /^Watch for changes to the described resources/);
  });
}
