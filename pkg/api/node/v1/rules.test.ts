import t from 'tap';
import { runtimeClassStrategy } from '#api/node/v1/runtimeclass/strategy.js';
import { checkRules, checkUpdateRules, type RuleRow } from '#api/testing/rule-table.js';
import type { Draft } from '#api/testing/strategy-table.js';

t.test('runtime classes are validated as in 1.24', (t) => {
  const base: Draft = { metadata: { name: 'r' }, handler: 'runc' };
  const create: RuleRow[] = [
    [
      'metadata.name',
      'A',
      `metadata.name: Invalid value: "A": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')`,
    ],
    [
      'handler',
      undefined,
      `handler: Invalid value: "": a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')`,
    ],
    [
      'handler',
      'A',
      `handler: Invalid value: "A": a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')`,
    ],
    [
      'handler',
      'a.b',
      `handler: Invalid value: "a.b": a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')`,
    ],
    [
      'overhead',
      { podFixed: { cpu: '-1' } },
      'overhead.limits[cpu]: Invalid value: "-1": must be greater than or equal to 0',
    ],
    ['overhead', { podFixed: { cpu: '1', memory: '1Mi' } }],
    [
      'overhead',
      { podFixed: { 'a/b/c': '1' } },
      `overhead.limits[a/b/c]: Invalid value: "a/b/c": a qualified name must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]') with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')`,
      `overhead.limits[a/b/c]: Invalid value: "a/b/c": doesn't follow extended resource name standard`,
    ],
    [
      'scheduling',
      { nodeSelector: { 'a b': 'c' } },
      `scheduling.nodeSelector: Invalid value: "a b": name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')`,
    ],
    [
      'scheduling',
      { nodeSelector: { a: 'b c' } },
      `scheduling.nodeSelector: Invalid value: "b c": a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')`,
    ],
    [
      'scheduling',
      {
        tolerations: [
          { key: 'a', operator: 'Exists' },
          { key: 'a', operator: 'Exists' },
        ],
      },
      'scheduling.tolerations[1]: Duplicate value: core.Toleration{Key:"a", Operator:"Exists", Value:"", Effect:"", TolerationSeconds:(*int64)(nil)}',
    ],
    [
      'scheduling',
      {
        tolerations: [
          { key: 'a', operator: 'Exists' },
          { key: 'a', operator: 'Exists', effect: 'NoSchedule' },
        ],
      },
    ],
    [
      'scheduling',
      { tolerations: [{ operator: 'Exists', value: 'x' }] },
      `scheduling.tolerations.tolerations[0].operator: Invalid value: core.Toleration{Key:"", Operator:"Exists", Value:"x", Effect:"", TolerationSeconds:(*int64)(nil)}: value must be empty when \`operator\` is 'Exists'`,
    ],
    [
      'scheduling',
      { tolerations: [{ operator: 'Other', key: 'a' }] },
      'scheduling.tolerations.tolerations[0].operator: Unsupported value: "Other": supported values: "Equal", "Exists"',
    ],
  ];
  checkRules(t, runtimeClassStrategy, base, create);
  const update: RuleRow[] = [
    ['handler', 'other', 'handler: Invalid value: "other": field is immutable'],
    ['overhead', { podFixed: { cpu: '1' } }],
  ];
  checkUpdateRules(t, runtimeClassStrategy, base, update);
  t.end();
});
