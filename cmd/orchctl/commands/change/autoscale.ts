/** `autoscale`: creates a horizontal pod autoscaler. */
import type { ApiObject } from '#client/client.js';
import { collectionPath, withQuery } from '#cmd/orchctl/api/api.js';
import { apiVersionOf } from '#cmd/orchctl/api/resources.js';
import { withAppliedAnnotation } from '#cmd/orchctl/commands/applied.js';
import type { Command } from '#cmd/orchctl/commands/command.js';
import { newMetadata, saveConfigOption } from '#cmd/orchctl/commands/create/builder.js';
import { dryRunOption, filenameOptions, managerOption } from '#cmd/orchctl/commands/options.js';
import { select } from '#cmd/orchctl/commands/selection.js';
import { dryRunOf, resultPrinter, writeQuery } from '#cmd/orchctl/commands/writing.js';
import { printOptions } from '#cmd/orchctl/print/formats.js';
import { CommandError, throwAll } from '#cmd/orchctl/terminal/errors.js';

const scalable = new Set(['Deployment', 'ReplicaSet', 'StatefulSet', 'ReplicationController']);

export const autoscale: Command = {
  name: 'autoscale',
  usage: '(TYPE NAME | TYPE/NAME | -f FILE) --max COUNT [--min COUNT] [--cpu-percent PERCENT]',
  summary: 'Let the number of pods follow their load',
  examples: ['orchctl autoscale deployment web --min=2 --max=10 --cpu-percent=80'],
  completes: 'objects',
  options: {
    ...filenameOptions,
    ...printOptions,
    ...dryRunOption,
    ...managerOption('orchctl-autoscale'),
    ...saveConfigOption,
    name: { type: 'string', section: 'Content', meaning: 'Name of the autoscaler; default: that of its target.' },
    min: { type: 'int', default: -1, section: 'Content', meaning: 'Least number of pods; default: 1.' },
    max: { type: 'int', default: -1, section: 'Content', meaning: 'Largest number of pods.' },
    'cpu-percent': {
      type: 'int',
      default: -1,
      section: 'Content',
      meaning: 'CPU usage to keep, in percent of what the pods request; default: as the server decides.',
    },
  },
  async run(invocation) {
    const { api, namespace, values } = invocation;
    const [min, max, percent] = ['min', 'max', 'cpu-percent'].map((name) => values.number(name)) as [
      number,
      number,
      number,
    ];
    if (!values.isSet('max')) throw new CommandError('required flag(s) "max" not set');
    if (max < 1) throw new CommandError(`--max=MAXPODS is required and must be at least 1, max: ${max}`);
    if (max < min) {
      throw new CommandError(`--max=MAXPODS must be larger or equal to --min=MINPODS, max: ${max}, min: ${min}`);
    }
    const dryRun = dryRunOf(values);
    const { infos, errors } = await select(invocation);
    const print = await resultPrinter(invocation, dryRun, { ordered: true });
    const failures = [...errors];
    for (const { name, resource } of infos) {
      try {
        if (!scalable.has(resource.kind) && resource.group !== '' && !resource.group.includes('.')) {
          throw new CommandError(
            `cannot autoscale a ${resource.kind}: the server could not find the requested resource`,
          );
        }
        const object = {
          kind: 'HorizontalPodAutoscaler',
          apiVersion: 'autoscaling/v1',
          metadata: newMetadata(values.string('name') ?? name),
          spec: {
            scaleTargetRef: { kind: resource.kind, name, apiVersion: apiVersionOf(resource) },
            ...(min > 0 ? { minReplicas: min } : {}),
            maxReplicas: max,
            ...(percent >= 0 ? { targetCPUUtilizationPercentage: percent } : {}),
          },
          status: { currentReplicas: 0, desiredReplicas: 0 },
        } as ApiObject;
        if (dryRun === 'client') {
          print(object, 'created');
          continue;
        }
        const autoscalers = (await api.catalog()).byKind('autoscaling/v1', 'HorizontalPodAutoscaler');
        const body = values.bool('save-config') ? await withAppliedAnnotation(object, invocation) : object;
        const path = withQuery(collectionPath(autoscalers, { namespace }), writeQuery(values, dryRun));
        print(await api.json<ApiObject>('POST', path, body), 'autoscaled');
      } catch (error) {
        failures.push(error);
      }
    }
    throwAll(failures);
    if (infos.length === 0) throw new CommandError('no objects passed to autoscale');
    return 0;
  },
};
