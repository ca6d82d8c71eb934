/** The configuration of the plugin PodTolerationRestriction: the cluster's tolerations, for namespaces without their own. */
import { validateTolerations } from '#api/core/v1/pod/validation/scheduling.js';
import type { Toleration } from '#api/core/v1/types.gen.js';
import type { Dialect } from '#apimachinery/dialect.js';
import { FieldPath } from '#apimachinery/validation/path.js';
import {
  configurationError,
  decodeConfiguration,
  type PluginConfiguration,
} from '#apiserver/admission/configuration.js';
import type { FieldTable, FieldType } from '#daemon/options/config-decode.js';

/** Tolerations that pods get, and those that they may have; an empty list allows all. */
export interface ClusterTolerations {
  readonly added: readonly Toleration[];
  readonly allowed: readonly Toleration[];
}

const tolerations: FieldType = {
  listOf: {
    fields: { key: 'string', operator: 'string', value: 'string', effect: 'string', tolerationSeconds: 'int64' },
  },
};

const fields: FieldTable = { apiVersion: 'string', kind: 'string', default: tolerations, whitelist: tolerations };

/** None without a configuration. Throws OptionsError. */
export function clusterTolerations(own: PluginConfiguration | undefined, dialect: Dialect): ClusterTolerations {
  if (own === undefined) return { added: [], allowed: [] };
  const versions = [dialect.podTolerationRestrictionVersion];
  const decoded = decodeConfiguration(own, { fields, kind: 'Configuration', versions });
  const { default: added = [], whitelist: allowed = [] } = decoded as Partial<
    Record<'default' | 'whitelist', readonly Toleration[]>
  >;
  const path = FieldPath.of('podtolerationrestriction');
  const failures = [
    ...validateTolerations(added, path.child('default')),
    ...validateTolerations(allowed, path.child('whitelist')),
  ];
  if (failures.length === 0) return { added, allowed };
  const list = failures.map(({ field, message }) => `${field}: ${message}`).join(' ');
  throw configurationError(own.path, [`invalid config: [${list}]`]);
}
