import type { Command } from '#cmd/orchctl/commands/command.js';
import { filenameOption } from '#cmd/orchctl/commands/options.js';

export const why: Command = {
  name: 'why',
  usage: '(pod NAME | -f FILE | --without-node NODE | --drain NODE)',
  summary: 'Tell why a pod waits, who refuses an object, or what the scheduler would do, changing nothing',
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
      meaning: 'Form of the output.',
    },
    node: { type: 'string', section: 'Output', meaning: 'Tell also what that node says.' },
    nodes: { type: 'bool', section: 'Output', meaning: 'Tell also what each node says.' },
    copies: {
      type: 'int',
      min: 0,
      default: 0,
      section: 'Forecast',
      meaning: 'Tell how many of so many copies of the pod fit.',
    },
    'without-node': {
      type: 'string',
      section: 'Forecast',
      meaning: 'As though that node were not there; alone: what would become of its pods.',
    },
    drain: {
      type: 'string',
      section: 'Forecast',
      meaning: 'What would become of the pods of that node if it were drained.',
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
    // Only this command needs the scheduler.
    const { answer } = await import('#cmd/orchctl/commands/why/answer.js');
    return answer(invocation);
  },
};
