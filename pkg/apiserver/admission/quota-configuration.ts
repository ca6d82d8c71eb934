/** The configuration of the plugin ResourceQuota: resources that may be used only if a quota covers them. */
import type { Dialect } from '#apimachinery/dialect.js';
import {
  configurationError,
  decodeConfiguration,
  type PluginConfiguration,
} from '#apiserver/admission/configuration.js';
import type { LimitedResource } from '#apiserver/admission/quota-check.js';
import type { FieldTable } from '#daemon/options/config-decode.js';

const fields: FieldTable = {
  apiVersion: 'string',
  kind: 'string',
  limitedResources: {
    listOf: {
      fields: {
        apiGroup: 'string',
        resource: 'string',
        matchContains: { listOf: 'string' },
        matchScopes: {
          listOf: { fields: { scopeName: 'string', operator: 'string', values: { listOf: 'string' } } },
        },
      },
    },
  },
};

/** None without a configuration. Throws OptionsError. */
export function limitedResources(own: PluginConfiguration | undefined, dialect: Dialect): readonly LimitedResource[] {
  if (own === undefined) return [];
  const versions = [dialect.apiServerConfigVersion];
  const config = decodeConfiguration(own, { fields, kind: 'ResourceQuotaConfiguration', versions });
  const limited = (config['limitedResources'] ?? []) as readonly Partial<LimitedResource>[];
  const errors = limited.flatMap(({ resource = '' }, i) =>
    resource === '' ? [`limitedResources[${i}].resource: Required value`] : [],
  );
  if (errors.length > 0) throw configurationError(own.path, errors);
  return limited.map(({ apiGroup = '', resource = '', matchContains = [], matchScopes = [] }) => ({
    apiGroup,
    resource,
    matchContains,
    matchScopes,
  }));
}
