import { Quiet } from '#dashboard/client/parts/notice.js';
import { Plot } from '#dashboard/client/parts/plot.js';
import { useUsage } from '#dashboard/client/parts/use-usage.js';
import { bytesText, coresText } from '#dashboard/model/node-fill.js';

interface UsagePlotsProps {
  readonly resource: 'nodes' | 'pods';
  readonly namespace?: string | undefined;
  readonly name: string;
  /** Thousandths of a core. */
  readonly cpuLimit?: number | undefined;
  readonly memoryLimit?: number | undefined;
}

/** CPU and memory as small plots, from when the page was opened. */
export function UsagePlots({ resource, namespace, name, cpuLimit, memoryLimit }: UsagePlotsProps) {
  const { series, trouble } = useUsage(resource, namespace, name);
  const { times = [], values = [] } = series ?? {};
  return (
    <section class="card" aria-label="Use">
      <h2>Use</h2>
      {trouble === undefined ? null : <Quiet>{trouble.code === 404 ? 'Not measured yet.' : trouble.message}</Quiet>}
      <div class="plots">
        <Plot title="CPU" times={times} values={values[0] ?? []} limit={cpuLimit} textOf={coresText} />
        <Plot title="Memory" times={times} values={values[1] ?? []} limit={memoryLimit} textOf={bytesText} />
      </div>
    </section>
  );
}
