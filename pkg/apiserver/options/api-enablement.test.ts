/** Served resources for each form of `--runtime-config`. */
import t from 'tap';
import { schemeFor } from '#api/scheme.js';
import { orchDialect as dialect, kubernetesDialect, orchDialect } from '#apimachinery/dialect.js';
import { apiEnablement, versionsWithoutResources } from '#apiserver/options/api-enablement.js';

const { resources } = schemeFor(dialect);
const flow = dialect.groupName('flowcontrol');
const internal = dialect.groupName('apiserverinternal');

/** `group/version/resource` of served resources. */
function served(config: Record<string, string>): Set<string> {
  const isEnabled = apiEnablement(config, resources);
  return new Set(
    resources
      .filter(isEnabled)
      .map(({ groupName, declaration }) => `${groupName}/${declaration.version}/${declaration.resource}`),
  );
}

t.test('--runtime-config turns versions and resources on and off', async (t) => {
  const pods = '/v1/pods';
  const nodes = '/v1/nodes';
  const deployments = 'apps/v1/deployments';
  const scalers = 'autoscaling/v2/horizontalpodautoscalers';
  const schemas = `${flow}/v1beta2/flowschemas`;
  const versions = `${internal}/v1alpha1/storageversions`;
  const all = [pods, nodes, deployments, scalers, schemas, versions];
  const rows: [string, Record<string, string>, string[]][] = [
    ['a resource with a feature gate needs only the gate', {}, all],
    ['no alpha', { 'api/alpha': 'false' }, [pods, nodes, deployments, scalers, schemas]],
    ['all', { 'api/all': 'true' }, all],
    ['alpha', { 'api/alpha': 'true' }, all],
    ['no beta', { 'api/beta': 'false' }, [pods, nodes, deployments, scalers, versions]],
    ['no ga', { 'api/ga': 'false' }, [schemas, versions]],
    ['families in their order', { 'api/beta': 'true', 'api/all': 'false' }, [schemas]],
    ['a version', { 'apps/v1': 'false', 'autoscaling/v1': 'false' }, [pods, nodes, scalers, schemas, versions]],
    ['a version before its family', { 'api/all': 'false', 'apps/v1': '' }, [deployments]],
    ['core', { v1: 'false' }, [deployments, scalers, schemas, versions]],
    ['core by its path', { 'api/v1': 'false' }, [deployments, scalers, schemas, versions]],
    ['core, with the rest of the key ignored', { 'v1/pods': 'false' }, [deployments, scalers, schemas, versions]],
    ['core with a leading slash', { '/v1': 'f' }, [deployments, scalers, schemas, versions]],
    ['a resource', { '/v1/pods': 'false' }, [nodes, deployments, scalers, schemas, versions]],
    [
      'a resource before its version',
      { v1: 'false', '/v1/pods': '1' },
      [pods, deployments, scalers, schemas, versions],
    ],
    ['a resource before all', { 'api/all': 'false', [`${internal}/v1alpha1/storageversions`]: 'true' }, [versions]],
    ['a missing resource', { 'apps/v1/nothing': 'false' }, [pods, nodes, deployments, scalers, schemas, versions]],
  ];
  for (const [name, config, expected] of rows) {
    const on = served(config);
    t.same(
      all.filter((resource) => on.has(resource)),
      expected,
      name,
    );
  }
});

t.test('unknown groups, versions and values are refused', async (t) => {
  const rows: [string, RegExp][] = [
    ['nothing.example.com/v1', /^unknown api groups nothing\.example\.com$/],
    ['api/v2', /unknown api groups api$/],
    ['apps/v1beta1', /group version apps\/v1beta1 that has not been registered$/],
    ['apps/v7/deployments', /group version apps\/v7 that has not been registered$/],
    ['v2', /group version v2 that has not been registered$/],
  ];
  for (const [key, message] of rows) {
    t.throws(() => apiEnablement({ [key]: 'true' }, resources), { name: 'OptionsError', message }, key);
  }
  const values: [string, string, RegExp][] = [
    ['apps/v1', 'maybe', /^invalid value of apps\/v1: maybe, err: strconv.ParseBool: parsing "maybe": invalid syntax$/],
    ['api/all', '1', /^invalid value api\/all=1$/],
  ];
  for (const [key, value, message] of values) t.throws(() => apiEnablement({ [key]: value }, resources), { message });
});

t.test('versions of types without resources are accepted', (t) => {
  for (const each of [orchDialect, kubernetesDialect]) {
    const accepted = versionsWithoutResources(each);
    const config = Object.fromEntries(accepted.map((version) => [version, 'true']));
    t.doesNotThrow(() => apiEnablement(config, schemeFor(each).resources, accepted), each.name);
    const other = { [`imagepolicy.${each.apiDomain}/v1`]: 'true' };
    t.throws(() => apiEnablement(other, schemeFor(each).resources, accepted), { message: /has not been registered$/ });
  }
  t.end();
});
