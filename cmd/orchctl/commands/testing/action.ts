/** `orchctl test kill`: nodes that lose their power, pods and containers that end. */
import type { Command } from '#cmd/orchctl/commands/command.js';
import { callTest } from '#cmd/orchctl/commands/testing/plan-file.js';
import { CommandError, UsageError } from '#cmd/orchctl/terminal/errors.js';

interface Done {
  readonly node?: string;
  readonly pods?: readonly string[];
  readonly failed?: readonly { readonly pod: string; readonly message: string }[];
}

const actions: Readonly<Record<string, string>> = {
  pods: 'delete-pods',
  evicted: 'evict-pods',
  containers: 'kill-containers',
};

export const kill: Command = {
  name: 'kill',
  usage: '(node NAME | pods | evicted | containers)',
  summary: 'Stop a node like a power failure, delete or evict pods, or end containers',
  examples: [
    'orchctl test kill node node-0',
    'orchctl test kill pods -n shop -l app=web --count 1 --seed 7',
    'orchctl test kill evicted -n shop -l app=web',
    'orchctl test kill containers -n shop -l app=web --container main',
  ],
  options: {
    selector: { type: 'string', shorthand: 'l', section: 'Selection', meaning: 'Label selector of the pods.' },
    count: { type: 'int', min: 1, section: 'Selection', meaning: 'Choose this many of the pods. Default: all.' },
    seed: { type: 'int', default: 1, min: 0, section: 'Selection', meaning: 'Repeats the choice.' },
    container: { type: 'string', shorthand: 'c', section: 'Selection', meaning: 'containers: its name. Default: all.' },
    'grace-period': {
      type: 'int',
      min: 0,
      section: 'Selection',
      meaning: 'pods, evicted: seconds for the pods to end. Default: that of each pod.',
    },
  },
  async run({ api, args, namespace, out, err, values }) {
    const [what = '', name, ...more] = args;
    const path = '/test/actions';
    if (what === 'node') {
      if (name === undefined || more.length > 0) throw new UsageError('use: test kill node NAME');
      await callTest<Done>(api, 'POST', path, { action: 'kill-node', node: name });
      out.write(`node ${name} has no power\n`);
      return 0;
    }
    const action = Object.hasOwn(actions, what) ? actions[what] : undefined;
    if (action === undefined || name !== undefined)
      throw new UsageError('use: test kill node NAME, test kill pods, test kill evicted or test kill containers');
    const isOfPods = what !== 'containers';
    const { pods = [], failed = [] } = await callTest<Done>(api, 'POST', path, {
      ...{ action, namespace, seed: values.number('seed') },
      ...(values.isSet('selector') ? { labelSelector: values.string('selector') } : {}),
      ...(values.isSet('count') ? { count: values.number('count') } : {}),
      ...(!isOfPods && values.isSet('container') ? { container: values.string('container') } : {}),
      ...(isOfPods && values.isSet('grace-period') ? { gracePeriodSeconds: values.number('grace-period') } : {}),
    });
    for (const pod of pods) out.write(`${pod}\n`);
    for (const { pod, message } of failed) err.write(`${pod}: ${message}\n`);
    if (failed.length > 0) throw new CommandError(`${failed.length} pods remain`);
    return 0;
  },
};
