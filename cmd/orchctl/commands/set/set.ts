/** `set`: single fields of objects. */
import { commandGroup } from '#cmd/orchctl/commands/group.js';

export const set = commandGroup({
  name: 'set',
  summary: 'Set images, variables, requests and limits, selectors, service accounts or subjects',
  examples: ['orchctl set image deployment/web web=nginx:1.25', 'orchctl set env deployment/web LEVEL=debug'],
  subcommands: [
    {
      name: 'env',
      summary: 'Set, remove and list variables of containers',
      load: async () => (await import('#cmd/orchctl/commands/set/env.js')).env,
    },
    {
      name: 'image',
      summary: 'Set images of containers',
      load: async () => (await import('#cmd/orchctl/commands/set/image.js')).image,
    },
    {
      name: 'resources',
      summary: 'Set requests and limits of containers',
      load: async () => (await import('#cmd/orchctl/commands/set/resources.js')).resources,
    },
    {
      name: 'selector',
      summary: 'Set the selector of a service',
      load: async () => (await import('#cmd/orchctl/commands/set/selector.js')).selector,
    },
    {
      name: 'serviceaccount',
      aliases: ['sa'],
      summary: 'Set the service account of pods',
      load: async () => (await import('#cmd/orchctl/commands/set/image.js')).serviceaccount,
    },
    {
      name: 'subject',
      summary: 'Add subjects to a role binding',
      load: async () => (await import('#cmd/orchctl/commands/set/selector.js')).subject,
    },
  ],
});
