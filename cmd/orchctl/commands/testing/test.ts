/** `orchctl test`: commands of test clusters. */
import type { Command } from '#cmd/orchctl/commands/command.js';
import { commandGroup } from '#cmd/orchctl/commands/group.js';
import { kill } from '#cmd/orchctl/commands/testing/action.js';
import { podRules } from '#cmd/orchctl/commands/testing/pod-rules.js';
import { report } from '#cmd/orchctl/commands/testing/report.js';

export const test: Command = commandGroup({
  name: 'test',
  summary: 'Show and change what happens in a test cluster',
  examples: ['orchctl test report', 'orchctl test pods apply -f pods.yaml', 'orchctl test kill node node-0'],
  subcommands: [report, podRules, kill],
});
