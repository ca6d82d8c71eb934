import type { Command } from '#cmd/orchctl/commands/command.js';
import { filenameOption } from '#cmd/orchctl/commands/options.js';

export const why: Command = {
  name: 'why',
  usage: '(pod NAME | -f FILE | --without-node NODE | --drain NODE)',
  summary: 'Explain why a pod is pending, what refuses an object, or what the scheduler would do; read-only',
  examples: [
    'orchctl why pod web-0',
    'orchctl why -f deployment.yaml --copies 50',
    'orchctl why -f policy.yaml',
    'orchctl why --drain node-1',
    'orchctl why pod web-0 -o yaml --node node-1',
  ],
  options: {
    ...filenameOption,
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
  async run(invocation) {
    // Imported on demand: only this command needs the scheduler.
    const { answer } = await import('#cmd/orchctl/commands/why/answer.js');
    return answer(invocation);
  },
};
