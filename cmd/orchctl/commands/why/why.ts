import { subresourceOption } from '#cmd/orchctl/commands/access/target.js';
import type { Command, Invocation } from '#cmd/orchctl/commands/command.js';
import { allNamespacesOption, filenameOptions } from '#cmd/orchctl/commands/options.js';

export const why: Command = {
  name: 'why',
  usage: '(TYPE NAME | --as USER VERB (TYPE | TYPE/NAME | URL) | -f FILE | --without-node NODE | --drain NODE)',
  summary: 'Explain why an object is stuck, a user may not do something, or an object is refused; read-only',
  examples: [
    'orchctl why pod web-0',
    'orchctl why deployment/web -n shop',
    'orchctl why service web',
    'orchctl why --as jane --as-group dev delete pods/web -n shop',
    'orchctl why -f deployment.yaml --copies 50',
    'orchctl why -f policy.yaml',
    'orchctl why --drain node-1',
    'orchctl why pod web-0 -o yaml --node node-1',
  ],
  options: {
    ...filenameOptions,
    ...allNamespacesOption,
    ...subresourceOption,
    output: {
      type: 'string',
      shorthand: 'o',
      section: 'Output',
      oneOf: ['json', 'yaml'],
      meaning: 'Output format.',
    },
    node: { type: 'string', section: 'Output', meaning: 'Also show the decision about this node.' },
    nodes: { type: 'bool', section: 'Output', meaning: 'Also show the decision about each node.' },
    copies: {
      type: 'int',
      min: 0,
      default: 0,
      section: 'Forecast',
      meaning: 'Show how many of this many copies of the pod fit.',
    },
    'without-node': {
      type: 'string',
      section: 'Forecast',
      meaning: 'Decide as if this node did not exist; alone: show where its pods would go.',
    },
    drain: {
      type: 'string',
      section: 'Forecast',
      meaning: "Show where this node's pods would go if it were drained.",
    },
    'ask-scheduler': {
      type: 'bool',
      section: 'Forecast',
      meaning:
        'Ask the scheduler at the address of --server instead of deciding here: its own secure port, or the API server of a cluster in one process.',
    },
    'scheduler-config': {
      type: 'string',
      section: 'Forecast',
      meaning: "The scheduler's configuration file, if it has one: profiles, plugins and their arguments.",
    },
  },
  isAboutUser: isAccess,
  async run(invocation) {
    if (isAccess(invocation)) {
      const { explainUser } = await import('#cmd/orchctl/commands/why/access.js');
      return explainUser(invocation);
    }
    // Imported on demand: only this command needs the scheduler.
    const { answer, explanations } = await import('#cmd/orchctl/commands/why/answer.js');
    if (isAboutObject(invocation)) {
      const { explainObject } = await import('#cmd/orchctl/commands/why/object.js');
      const done = await explainObject(invocation, explanations(invocation));
      if (done !== undefined) return done;
    }
    return answer(invocation);
  },
};

const podTypes = ['pod', 'pods', 'po'];

/** With --as, two arguments are a verb and a resource, unless the first one is the type of a pod. */
function isAccess({ args, values }: Pick<Invocation, 'args' | 'values'>): boolean {
  return values.isSet('as') && args.length === 2 && !podTypes.includes(args[0] ?? '');
}

/** Options with which the scheduler's decision about a pod is meant. */
const decisionOptions = ['filename', 'node', 'nodes', 'copies', 'without-node', 'drain', 'ask-scheduler'];

function isAboutObject({ args, values }: Pick<Invocation, 'args' | 'values'>): boolean {
  return args.length > 0 && !decisionOptions.some((option) => values.isSet(option));
}
