/** What 1.24 refuses about the store. */
import { kubernetesDialect, orchDialect } from '#apimachinery/dialect.js';
import { quoted } from '#apimachinery/errors/shown.js';
import { isEtcdAddress, parseOverride } from '#apiserver/options/etcd-overrides.js';
import type { ApiServerValues } from '#apiserver/options/options.js';
import type { Rule } from '#daemon/options/validate.js';

export const etcdRules: Rule<ApiServerValues> = (values) => {
  const messages: string[] = [];
  const backend = values['storage-backend'];
  if (backend !== '' && backend !== 'etcd3') {
    messages.push("--storage-backend invalid, allowed values: etcd3. If not specified, it will default to 'etcd3'");
  }
  for (const override of values['etcd-servers-overrides']) {
    const parsed = parseOverride(override);
    if (parsed === undefined) {
      messages.push(
        '--etcd-servers-overrides invalid, must be of format: group/resource#servers, where servers are URLs, semicolon separated',
      );
    }
    messages.push(...addressErrors('etcd-servers-overrides', parsed?.servers ?? []));
  }
  messages.push(...addressErrors('etcd-servers', values['etcd-servers']));
  return messages;
};

/** 1.24 takes any text, and then never reaches its store. */
function addressErrors(option: string, servers: readonly string[]): string[] {
  return servers
    .filter((server) => !isEtcdAddress(server))
    .map((server) => `--${option}: ${quoted(server)} is not of the form scheme://host:port`);
}

/** A server that is not given its store from outside needs etcd. */
export const etcdServersRule: Rule<ApiServerValues> = (values) =>
  values['etcd-servers'].length === 0 ? ['--etcd-servers must be specified'] : [];

/** The sizes that are given: `resource[.group]#size`. They mean nothing while the cache is off. */
export const watchCacheRule: Rule<ApiServerValues> = (values) => {
  if (!values['watch-cache']) return [];
  for (const text of values['watch-cache-sizes']) {
    const [, size = '', ...more] = text.split('#');
    if (!text.includes('#') || more.length > 0) return [`invalid value of watch cache size: ${text}`];
    if (!/^[+-]?\d+$/.test(size)) return [`invalid size of watch cache size: ${text}`];
    if (Number(size) < 0) return [`watch cache size cannot be negative: ${text}`];
  }
  return [];
};

/** Client certificate and key: looked at when the store is connected with. */
export const etcdKeyRule: Rule<ApiServerValues> = (values) => {
  const [cert, key] = [values['etcd-certfile'] ?? '', values['etcd-keyfile'] ?? ''];
  if ((cert === '') === (key === '')) return [];
  return [`KeyFile and CertFile must both be present[key: ${key}, cert: ${cert}]`];
};

const storedForms: readonly string[] = [
  '',
  'application/json',
  'application/yaml',
  orchDialect.protobufMediaType,
  kubernetesDialect.protobufMediaType,
];

/** The form of what is stored. Empty: that of the release. */
export const storedFormRule: Rule<ApiServerValues> = (values) => {
  const form = values['storage-media-type'];
  return storedForms.includes(form) ? [] : [`unable to find serializer for ${quoted(form)}`];
};
