import t from 'tap';
import { storageVersionStrategy } from '#api/apiserverinternal/v1alpha1/storageversion/strategy.js';
import { checkRules, checkStatusRules, type RuleRow } from '#api/testing/rule-table.js';
import type { Draft } from '#api/testing/strategy-table.js';

t.test('storage versions are validated as in 1.24', (t) => {
  const base: Draft = { metadata: { name: 'apps.deployments' }, spec: {}, status: {} };
  const create: RuleRow[] = [
    [
      'metadata.name',
      'deployments',
      'metadata.name: Invalid value: "deployments": name must be in the form of <group>.<resource>',
    ],
    [
      'metadata.name',
      'A.deployments',
      `metadata.name: Invalid value: "A.deployments": the group segment a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')`,
    ],
    [
      'metadata.name',
      'apps.1',
      `metadata.name: Invalid value: "apps.1": the resource segment a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')`,
    ],
    ['metadata.name', 'batch.example.com.jobs'],
    ['metadata.namespace', 'ns', 'metadata.namespace: Forbidden: not allowed on this type'],
  ];
  checkRules(t, storageVersionStrategy, base, create);
  const status: RuleRow[] = [
    [
      'storageVersions',
      [{ apiServerID: 'A', encodingVersion: 'v1', decodableVersions: ['v1'] }],
      `status.storageVersions[0].apiServerID: Invalid value: "A": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')`,
    ],
    [
      'storageVersions',
      [{ apiServerID: '', encodingVersion: 'v1', decodableVersions: ['v1'] }],
      `status.storageVersions[0].apiServerID: Invalid value: "": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')`,
    ],
    [
      'storageVersions',
      [{ apiServerID: 'a', encodingVersion: 'V1', decodableVersions: ['v1'] }],
      `status.storageVersions[0].encodingVersion: Invalid value: "V1": version part: a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')`,
      'status.storageVersions[0].decodableVersions: Invalid value: []string{"v1"}: decodableVersions must include encodingVersion V1',
      'status.commonEncodingVersion: Invalid value: "v1": the actual common encoding version is V1',
    ],
    [
      'storageVersions',
      [{ apiServerID: 'a', encodingVersion: 'v1', decodableVersions: ['v1', 'V2'] }],
      `status.storageVersions[0].decodableVersions[1]: Invalid value: "V2": version part: a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')`,
    ],
    [
      'storageVersions',
      [{ apiServerID: 'a', encodingVersion: 'v1', decodableVersions: ['v2'] }],
      'status.storageVersions[0].decodableVersions: Invalid value: []string{"v2"}: decodableVersions must include encodingVersion v1',
    ],
    [
      'storageVersions',
      [{ apiServerID: 'a', encodingVersion: 'v1', decodableVersions: ['v1', 'apps/v1', '/v1', 'Apps/', 'a/b/c'] }],
      'status.storageVersions[0].decodableVersions[2]: Invalid value: "/v1": group part: must be non-empty',
      `status.storageVersions[0].decodableVersions[3]: Invalid value: "Apps/": group part: a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*'),version part: must be non-empty`,
      `status.storageVersions[0].decodableVersions[4]: Invalid value: "a/b/c": an apiVersion is a DNS-1035 label, which must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character (e.g. 'my-name', or 'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?') with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyVersion')`,
    ],
    [
      'commonEncodingVersion',
      undefined,
      'status.commonEncodingVersion: Invalid value: "null": the common encoding version is v1',
    ],
    [
      'commonEncodingVersion',
      'v2',
      'status.commonEncodingVersion: Invalid value: "v2": the actual common encoding version is v1',
    ],
    [
      'storageVersions',
      [],
      'status.commonEncodingVersion: Invalid value: "v1": should be nil if servers do not agree on the same encoding version, or if there is no server reporting the supported versions yet',
    ],
    [
      'storageVersions',
      [
        { apiServerID: 'a', encodingVersion: 'v1', decodableVersions: ['v1'] },
        { apiServerID: 'b', encodingVersion: 'v2', decodableVersions: ['v2'] },
      ],
      'status.commonEncodingVersion: Invalid value: "v1": should be nil if servers do not agree on the same encoding version, or if there is no server reporting the supported versions yet',
    ],
    ['conditions', [{ type: 'AllEncodingVersionsEqual', status: 'True', reason: 'R', message: 'm' }]],
    [
      'conditions',
      [{ type: '', status: 'True', reason: 'R', message: 'm' }],
      'status[0].type: Invalid value: "": name part must be non-empty',
      `status[0].type: Invalid value: "": name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')`,
    ],
    [
      'conditions',
      [{ type: 'AllEncodingVersionsEqual', status: 'a b', reason: 'R', message: 'm' }],
      `status[0].status: Invalid value: "AllEncodingVersionsEqual": name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')`,
    ],
    [
      'conditions',
      [{ type: 'AllEncodingVersionsEqual', status: 'True', reason: '', message: 'm' }],
      'status[0].reason: Required value: reason cannot be empty',
    ],
    [
      'conditions',
      [{ type: 'AllEncodingVersionsEqual', status: 'True', reason: 'R', message: '' }],
      'status[0].message: Required value: message cannot be empty',
    ],
    [
      'conditions',
      [
        { type: 'AllEncodingVersionsEqual', status: 'True', reason: 'R', message: 'm' },
        { type: 'AllEncodingVersionsEqual', status: 'True', reason: 'R', message: 'm' },
      ],
      'status[1].type: Invalid value: "AllEncodingVersionsEqual": the type of the condition is not unique, it also appears in conditions[0]',
    ],
  ];
  checkStatusRules(
    t,
    storageVersionStrategy,
    {
      base,
      status: {
        storageVersions: [{ apiServerID: 'a', encodingVersion: 'v1', decodableVersions: ['v1'] }],
        commonEncodingVersion: 'v1',
      },
    },
    status,
  );
  t.end();
});
