/** Asks for what an autoscaler's metrics are. */
import type { MetricSpec } from '#api/autoscaling/v2/types.gen.js';
import { messageOf } from '#apimachinery/errors/message.js';
import { type LabelSelector, selectorFromObject } from '#apimachinery/selectors/labels.js';
import type { MetricsClient } from '#controllers/horizontalpodautoscaling/metrics-client.js';
import type { Sample } from '#controllers/horizontalpodautoscaling/proposal.js';
import { selectorWords } from '#controllers/horizontalpodautoscaling/words.js';

/** What is measured of the metric now, or why not, in the words of release 1.24. Never throws. */
export async function observe(
  client: MetricsClient,
  spec: MetricSpec,
  { namespace, selector, signal }: { namespace: string; selector: LabelSelector; signal: AbortSignal },
): Promise<Sample> {
  const scope = { namespace, signal };
  const { resource, containerResource, pods, object, external } = spec;
  try {
    switch (spec.type) {
      case 'Resource':
      case 'ContainerResource': {
        const { name = '' } = resource ?? containerResource ?? {};
        const wanted = { selector, resource: name, ...containerOf(containerResource) };
        const asked = client.ofResource(scope, wanted);
        return { pods: await within(asked, `unable to get metrics for resource ${name}: `) };
      }
      case 'Pods': {
        const { name, selector: labels } = pods?.metric ?? { name: '' };
        const asked = client.ofPods(scope, { selector, metric: name, series: selectorFromObject(labels) });
        return { pods: await within(asked, `unable to get metric ${name}: `) };
      }
      case 'Object': {
        if (object === undefined) return { error: new TypeError('no object') };
        const { describedObject, metric } = object;
        const series = selectorFromObject(metric.selector);
        const asked = client.ofObject(scope, { object: describedObject, metric: metric.name, series });
        // The order of these words is that of 1.24.
        const before = `unable to get metric ${metric.name}: ${describedObject.kind} on ${namespace} `;
        return { milli: await within(asked, `${before}${describedObject.name}/`) };
      }
      case 'External': {
        const { name, selector: labels } = external?.metric ?? { name: '' };
        const asked = client.external(scope, { metric: name, series: selectorFromObject(labels) });
        const which = `${namespace}/${name}/${selectorWords(labels)}`;
        return { milli: await within(asked, `unable to get external metric ${which}: `) };
      }
      default:
        return { error: new TypeError(`unknown type ${spec.type}`) };
    }
  } catch (error) {
    return { error };
  }
}

function containerOf(source: MetricSpec['containerResource']): { container?: string } {
  return source === undefined ? {} : { container: source.container };
}

async function within<T>(asked: Promise<T>, prefix: string): Promise<T> {
  try {
    return await asked;
  } catch (error) {
    throw new Error(`${prefix}${messageOf(error)}`, { cause: error });
  }
}
