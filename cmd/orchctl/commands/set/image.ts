/** `set image` and `set serviceaccount`. */

import { splitArguments } from '#cmd/orchctl/commands/change/pairs.js';
import type { Command } from '#cmd/orchctl/commands/command.js';
import { changeTemplates, templateOptions } from '#cmd/orchctl/commands/set/pod-templates.js';
import { CommandError, throwAll } from '#cmd/orchctl/terminal/errors.js';

export const image: Command = {
  name: 'image',
  usage: '(TYPE NAME | TYPE/NAME | -f FILE) CONTAINER=IMAGE…',
  summary: 'Set images of containers',
  examples: ['orchctl set image deployment/web web=nginx:1.25', "orchctl set image deployments --all '*=nginx:1.25'"],
  completes: 'objects',
  options: templateOptions,
  run(invocation) {
    const { args, values } = invocation;
    const { resources, pairs } = splitArguments(args, 'image');
    const images = new Map(
      pairs.map((pair) => {
        const at = pair.indexOf('=');
        if (at < 0) throw new CommandError(`invalid image format: ${pair}`);
        return [pair.slice(0, at), pair.slice(at + 1)] as const;
      }),
    );
    const faults: CommandError[] = [];
    if (values.bool('all') && values.isSet('selector')) {
      faults.push(new CommandError('cannot set --all and --selector at the same time'));
    }
    if (images.size === 0) faults.push(new CommandError('at least one image update is required'));
    else if (images.has('*') && images.size > 1) {
      faults.push(
        new CommandError(
          'all containers are already specified by *, but saw more than one container_name=container_image pairs',
        ),
      );
    }
    throwAll(faults);
    return changeTemplates(invocation, {
      resources,
      verb: 'image updated',
      failure: 'failed to patch image update to pod template: ',
      change(spec) {
        const missing: CommandError[] = [];
        for (const [name, text] of images) {
          const chosen = [...(spec.initContainers ?? []), ...(spec.containers ?? [])].filter(
            (each) => name === '*' || each.name === name,
          );
          for (const container of chosen) container.image = text;
          if (chosen.length === 0)
            missing.push(new CommandError(`unable to find container named ${JSON.stringify(name)}`));
        }
        throwAll(missing);
      },
    });
  },
};

export const serviceaccount: Command = {
  name: 'serviceaccount',
  aliases: ['sa'],
  usage: '(TYPE NAME | TYPE/NAME | -f FILE) ACCOUNT',
  summary: 'Set the service account of pods',
  examples: ['orchctl set serviceaccount deployment web builder'],
  completes: 'objects',
  options: templateOptions,
  run(invocation) {
    const { args } = invocation;
    const account = args.at(-1);
    if (account === undefined) throw new CommandError('serviceaccount is required');
    return changeTemplates(invocation, {
      resources: args.slice(0, -1),
      verb: 'serviceaccount updated',
      failure: 'failed to patch ServiceAccountName ',
      change(spec) {
        spec.serviceAccountName = account;
      },
    });
  },
};
