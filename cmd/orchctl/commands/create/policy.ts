/** `create quota`, `poddisruptionbudget` and `priorityclass`. */
import { parseLabelSelector } from '#apimachinery/selectors/label-parser.js';
import type { ApiObject } from '#client/client.js';
import { parseAmounts } from '#cmd/orchctl/commands/amounts.js';
import { builderCommand, dialectOf, newMetadata } from '#cmd/orchctl/commands/create/builder.js';
import { selectorObject } from '#cmd/orchctl/commands/create/selector-object.js';
import { CommandError } from '#cmd/orchctl/terminal/errors.js';

export const quota = builderCommand({
  name: 'quota',
  aliases: ['resourcequota'],
  usage: 'NAME [--hard TYPE=AMOUNT,…] [--scopes SCOPE,…]',
  summary: 'Create a quota',
  examples: ['orchctl create quota small --hard=cpu=1,memory=1Gi,pods=10'],
  failure: 'failed to create quota: ',
  options: {
    hard: { type: 'string', section: 'Content', meaning: 'Limits, such as cpu=1,memory=1Gi,pods=10.' },
    scopes: { type: 'string', section: 'Content', meaning: 'Scopes, such as BestEffort,NotTerminating.' },
  },
  build({ values }, name) {
    const hard = limitsOf(values.string('hard') ?? '');
    const scopes = (values.string('scopes') ?? '').split(',');
    const isScoped = (values.string('scopes') ?? '') !== '';
    if (isScoped && scopes.includes('')) throw new CommandError('invalid resource quota scope ""');
    return {
      kind: 'ResourceQuota',
      apiVersion: 'v1',
      metadata: newMetadata(name),
      spec: { ...(hard === undefined ? {} : { hard }), ...(isScoped ? { scopes } : {}) },
      status: {},
    } as ApiObject;
  },
});

function limitsOf(text: string): Record<string, string> | undefined {
  const pairs = parseAmounts(text, 'Invalid');
  return pairs && Object.fromEntries(pairs.sort(([a], [b]) => (a < b ? -1 : 1)));
}

export const poddisruptionbudget = builderCommand({
  name: 'poddisruptionbudget',
  aliases: ['pdb'],
  usage: 'NAME --selector SELECTOR (--min-available COUNT | --max-unavailable COUNT)',
  summary: 'Create a budget for disruptions of pods',
  examples: ['orchctl create poddisruptionbudget web --selector=app=web --min-available=50%'],
  failure: 'failed to create poddisruptionbudgets: ',
  options: {
    selector: { type: 'string', section: 'Content', meaning: 'Label selector of the pods.' },
    'min-available': { type: 'string', section: 'Content', meaning: 'Least number, or part, of pods that stay.' },
    'max-unavailable': {
      type: 'string',
      section: 'Content',
      meaning: 'Largest number, or part, of pods that are gone.',
    },
  },
  build({ values }, name) {
    const [selector = '', least = '', most = ''] = ['selector', 'min-available', 'max-unavailable'].map((option) =>
      values.string(option),
    );
    if (selector === '') throw new CommandError('a selector must be specified');
    if (most === '' && least === '') {
      throw new CommandError('one of min-available or max-unavailable must be specified');
    }
    if (most !== '' && least !== '') {
      throw new CommandError('min-available and max-unavailable cannot be both specified');
    }
    const isCount = (text: string) => text === '' || /^[0-9]+%?$/.test(text);
    if (!isCount(least)) throw new CommandError('invalid format specified for min-available');
    if (!isCount(most)) throw new CommandError('invalid format specified for max-unavailable');
    const count = (text: string) => (text.endsWith('%') ? text : Number(text));
    return {
      kind: 'PodDisruptionBudget',
      apiVersion: 'policy/v1',
      metadata: newMetadata(name),
      spec: {
        ...(least === '' ? {} : { minAvailable: count(least) }),
        selector: selectorObject(parseLabelSelector(selector)),
        ...(most === '' ? {} : { maxUnavailable: count(most) }),
      },
      status: { disruptionsAllowed: 0, currentHealthy: 0, desiredHealthy: 0, expectedPods: 0 },
    } as ApiObject;
  },
});

export const priorityclass = builderCommand({
  name: 'priorityclass',
  aliases: ['pc'],
  usage: 'NAME --value NUMBER [--global-default] [--preemption-policy POLICY] [--description TEXT]',
  summary: 'Create a priority class',
  examples: ['orchctl create priorityclass high --value=1000 --description="before all others"'],
  failure: 'failed to create priorityclass: ',
  options: {
    value: { type: 'int', section: 'Content', meaning: 'The priority of its pods.' },
    'global-default': { type: 'bool', section: 'Content', meaning: 'Whether pods without a class have this one.' },
    description: { type: 'string', section: 'Content', meaning: 'When to use the class.' },
    'preemption-policy': {
      type: 'string',
      default: 'PreemptLowerPriority',
      section: 'Content',
      meaning: 'Whether its pods displace others: PreemptLowerPriority or Never.',
    },
  },
  async build(invocation, name) {
    const { values } = invocation;
    const { apiVersion } = await dialectOf(invocation);
    const description = values.string('description') ?? '';
    return {
      kind: 'PriorityClass',
      apiVersion: apiVersion('scheduling', 'v1'),
      metadata: newMetadata(name),
      value: values.number('value'),
      ...(values.bool('global-default') ? { globalDefault: true } : {}),
      ...(description === '' ? {} : { description }),
      preemptionPolicy: values.string('preemption-policy'),
    } as ApiObject;
  },
});
