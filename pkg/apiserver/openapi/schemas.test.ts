import t from 'tap';
import { schemeFor } from '#api/scheme.js';
import { kubernetesDialect, orchDialect } from '#apimachinery/dialect.js';
import type { SchemaDocument } from '#apiserver/openapi/document-types.js';
import { definitionName } from '#apiserver/openapi/names.js';
import { type OpenApiVersion, SchemaCollector } from '#apiserver/openapi/schemas.js';

function collected(version: OpenApiVersion, dialect = kubernetesDialect) {
  const scheme = schemeFor(dialect);
  const collector = new SchemaCollector(dialect, version);
  for (const { type } of scheme.resources) collector.reference(type);
  const schemaOf = (name: string): SchemaDocument =>
    collector.schemas[definitionName(scheme.type(name), dialect)] ?? {};
  return { scheme, schemaOf, schemas: collector.schemas, collector };
}

for (const version of [2, 3] as const) {
  t.test(`descriptions in OpenAPI ${version}`, async (t) => {
    const { scheme, schemaOf, schemas } = collected(version);
    const pod = scheme.type('core.v1.Pod');
    t.equal(schemaOf('core.v1.Pod').description, pod.doc);
    t.equal(schemaOf('core.v1.Pod').properties?.['spec']?.description, pod.byName.get('spec')?.doc);
    t.equal(schemaOf('resource.Quantity').description, scheme.type('resource.Quantity').doc);
    const silent = Object.entries(schemas).flatMap(([name, schema]) => [
      ...(schema.description === undefined ? [name] : []),
      ...Object.entries(schema.properties ?? {}).flatMap(([property, { description }]) =>
        description === undefined ? [`${name}.${property}`] : [],
      ),
    ]);
    t.strictSame(silent, [], 'every definition and every property is described');
  });
}

t.test('a reference has its description as a sibling in 2.0, and in a wrapper in 3.0', async (t) => {
  const spec = (version: OpenApiVersion) => collected(version).schemaOf('core.v1.Pod').properties?.['spec'];
  t.match(spec(2), { $ref: '#/definitions/io.k8s.api.core.v1.PodSpec', description: String });
  t.match(spec(3), { allOf: [{ $ref: '#/components/schemas/io.k8s.api.core.v1.PodSpec' }], description: String });
  t.equal(spec(3)?.$ref, undefined);
});

t.test('fields of inline messages are described in their own type', async (t) => {
  const { schemaOf } = collected(2, orchDialect);
  t.match(schemaOf('core.v1.Volume').properties, { name: { description: String }, emptyDir: { description: String } });
});

t.test('exactly the unions of 1.24 are documented, under both prefixes', async (t) => {
  const { schemas, schemaOf } = collected(2, orchDialect);
  t.strictSame(schemaOf('flowcontrol.v1beta2.Subject')['x-kubernetes-unions'], [
    {
      discriminator: 'kind',
      'fields-to-discriminateBy': { group: 'Group', serviceAccount: 'ServiceAccount', user: 'User' },
    },
  ]);
  t.strictSame(schemaOf('core.v1.SeccompProfile')[`${orchDialect.extensionPrefix}unions`], [
    { discriminator: 'type', 'fields-to-discriminateBy': { localhostProfile: 'LocalhostProfile' } },
  ]);
  const names = Object.keys(schemas).filter((name) => schemas[name]?.['x-kubernetes-unions'] !== undefined);
  t.strictSame(
    names.map((name) => name.split('.').slice(-3).join('.')).sort(),
    [
      'core.v1.SeccompProfile',
      ...['v1beta1', 'v1beta2'].flatMap((version) =>
        ['LimitResponse', 'PriorityLevelConfigurationSpec', 'Subject'].map((name) => `flowcontrol.${version}.${name}`),
      ),
    ].sort(),
  );
});

t.test('types are named after the servers that introduced them', (t) => {
  const { resources } = schemeFor(kubernetesDialect);
  const nameOf = (resource: string) => {
    const info = resources.find(({ declaration }) => declaration.resource === resource);
    return info && definitionName(info.type, kubernetesDialect);
  };
  t.equal(nameOf('deployments'), 'io.k8s.api.apps.v1.Deployment');
  t.equal(
    nameOf('customresourcedefinitions'),
    'io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.CustomResourceDefinition',
  );
  t.equal(nameOf('apiservices'), 'io.k8s.kube-aggregator.pkg.apis.apiregistration.v1.APIService');
  t.end();
});

t.test("descriptions begin as 1.24's do because other tools rely on it", async (t) => {
  const { scheme, schemaOf, collector } = collected(2);
  for (const list of ['PodList', 'ServiceList']) collector.reference(scheme.type(`core.v1.${list}`));
  const descriptionOf = (type: string, field: string) => schemaOf(type).properties?.[field]?.description;
  t.match(descriptionOf('core.v1.Pod', 'apiVersion'), /^APIVersion defines /);
  t.match(descriptionOf('core.v1.Pod', 'kind'), /^Kind is /);
  t.match(descriptionOf('core.v1.Pod', 'metadata'), /^Standard object's metadata/);
  t.match(descriptionOf('core.v1.PodList', 'metadata'), /^Standard list metadata/);
  t.match(descriptionOf('core.v1.ServiceList', 'items'), /^List of services/);
  t.match(descriptionOf('meta.v1.ObjectMeta', 'creationTimestamp'), /^CreationTimestamp is a timestamp/);
});
