import t from 'tap';
import { podDisruptionBudgetStrategy } from '#api/policy/v1/poddisruptionbudget/strategy.js';
import { checkRules, checkStatusRules, type RuleRow } from '#api/testing/rule-table.js';
import type { Draft } from '#api/testing/strategy-table.js';

t.test('disruption budgets are validated as in 1.24', (t) => {
  const base: Draft = { metadata: { name: 'n', namespace: 'ns' }, spec: { minAvailable: 1 } };
  const create: RuleRow[] = [
    ['metadata.name', 'A_B'],
    ['metadata.name', 'a/b', `metadata.name: Invalid value: "a/b": may not contain '/'`],
    [
      'spec',
      { minAvailable: 1, maxUnavailable: 1 },
      'spec: Invalid value: {"minAvailable":1,"maxUnavailable":1}: minAvailable and maxUnavailable cannot be both set',
    ],
    ['spec', {}],
    ['spec.minAvailable', -1, 'spec.minAvailable: Invalid value: -1: must be greater than or equal to 0'],
    ['spec.minAvailable', '50%'],
    [
      'spec.minAvailable',
      'x',
      `spec.minAvailable: Invalid value: intstr.IntOrString{Type:1, IntVal:0, StrVal:"x"}: a valid percent string must be a numeric string followed by an ending '%' (e.g. '1%',  or '93%', regex used for validation is '[0-9]+%')`,
    ],
    [
      'spec.minAvailable',
      '101%',
      'spec.minAvailable: Invalid value: intstr.IntOrString{Type:1, IntVal:0, StrVal:"101%"}: must not be greater than 100%',
    ],
    ['spec', { maxUnavailable: -1 }, 'spec.maxUnavailable: Invalid value: -1: must be greater than or equal to 0'],
    [
      'spec',
      { maxUnavailable: '101%' },
      'spec.maxUnavailable: Invalid value: intstr.IntOrString{Type:1, IntVal:0, StrVal:"101%"}: must not be greater than 100%',
    ],
    [
      'spec',
      { maxUnavailable: '1.5%' },
      `spec.maxUnavailable: Invalid value: intstr.IntOrString{Type:1, IntVal:0, StrVal:"1.5%"}: a valid percent string must be a numeric string followed by an ending '%' (e.g. '1%',  or '93%', regex used for validation is '[0-9]+%')`,
    ],
    [
      'spec.selector',
      { matchExpressions: [{ key: 'a', operator: 'Is' }] },
      'spec.selector.matchExpressions[0].operator: Invalid value: "Is": not a valid selector operator',
    ],
    ['spec.selector', {}],
  ];
  checkRules(t, podDisruptionBudgetStrategy, base, create);
  const status: RuleRow[] = [
    ['disruptionsAllowed', -1, 'status.disruptionsAllowed: Invalid value: -1: must be greater than or equal to 0'],
    ['currentHealthy', -1, 'status.currentHealthy: Invalid value: -1: must be greater than or equal to 0'],
    ['desiredHealthy', -1, 'status.desiredHealthy: Invalid value: -1: must be greater than or equal to 0'],
    ['expectedPods', -1, 'status.expectedPods: Invalid value: -1: must be greater than or equal to 0'],
    [
      'conditions',
      [{ type: 'A', status: 'True', reason: 'R', lastTransitionTime: '2024-05-31T23:00:00Z', message: '' }],
    ],
    [
      'conditions',
      [{ type: '', status: 'True', reason: 'R', lastTransitionTime: '2024-05-31T23:00:00Z', message: '' }],
      'status.conditions[0].type: Invalid value: "": name part must be non-empty',
      `status.conditions[0].type: Invalid value: "": name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')`,
    ],
    [
      'conditions',
      [{ type: 'a b', status: 'True', reason: 'R', lastTransitionTime: '2024-05-31T23:00:00Z', message: '' }],
      `status.conditions[0].type: Invalid value: "a b": name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')`,
    ],
    [
      'conditions',
      [{ type: 'A', status: 'Maybe', reason: 'R', lastTransitionTime: '2024-05-31T23:00:00Z', message: '' }],
      'status.conditions[0].status: Unsupported value: "Maybe": supported values: "False", "True", "Unknown"',
    ],
    [
      'conditions',
      [
        {
          type: 'A',
          status: 'True',
          reason: 'R',
          lastTransitionTime: '2024-05-31T23:00:00Z',
          message: '',
          observedGeneration: -1,
        },
      ],
      'status.conditions[0].observedGeneration: Invalid value: -1: must be greater than or equal to zero',
    ],
    [
      'conditions',
      [{ type: 'A', status: 'True', reason: 'R', message: '' }],
      'status.conditions[0].lastTransitionTime: Required value: must be set',
    ],
    [
      'conditions',
      [{ type: 'A', status: 'True', reason: '', lastTransitionTime: '2024-05-31T23:00:00Z', message: '' }],
      'status.conditions[0].reason: Required value: must be set',
    ],
    [
      'conditions',
      [{ type: 'A', status: 'True', reason: 'a-b', lastTransitionTime: '2024-05-31T23:00:00Z', message: '' }],
      `status.conditions[0].reason: Invalid value: "a-b": a condition reason must start with alphabetic character, optionally followed by a string of alphanumeric characters or '_,:', and must end with an alphanumeric character or '_' (e.g. 'my_name',  or 'MY_NAME',  or 'MyName',  or 'ReasonA,ReasonB',  or 'ReasonA:ReasonB', regex used for validation is '[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?')`,
    ],
    [
      'conditions',
      [
        {
          type: 'A',
          status: 'True',
          reason: 'x'.repeat(1025),
          lastTransitionTime: '2024-05-31T23:00:00Z',
          message: '',
        },
      ],
      'status.conditions[0].reason: Too long: must have at most 1024 bytes',
    ],
    [
      'conditions',
      [
        {
          type: 'A',
          status: 'True',
          reason: 'R',
          lastTransitionTime: '2024-05-31T23:00:00Z',
          message: 'x'.repeat(32769),
        },
      ],
      'status.conditions[0].message: Too long: must have at most 32768 bytes',
    ],
    [
      'conditions',
      [
        { type: 'A', status: 'True', reason: 'R', lastTransitionTime: '2024-05-31T23:00:00Z', message: '' },
        { type: 'A', status: 'True', reason: 'R', lastTransitionTime: '2024-05-31T23:00:00Z', message: '' },
      ],
      'status.conditions[1].type: Duplicate value: "A"',
    ],
  ];
  checkStatusRules(t, podDisruptionBudgetStrategy, { base }, status);
  t.end();
});
