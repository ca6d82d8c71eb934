import type { TabProps } from '#dashboard/client/pages/object/tab.js';
import { UsagePlots } from '#dashboard/client/parts/usage-plots.js';
import { amountOf, type NodeObject } from '#dashboard/model/node-fill.js';
import { isPod } from '#dashboard/model/pods.js';

export function MetricsTab({ kind, object }: TabProps) {
  const { name = '', namespace } = object.metadata;
  if (isPod(object, kind)) {
    const limits = object.spec.containers.map(({ resources }) => resources?.limits);
    const sum = (key: string) => limits.reduce((total, each) => total + amountOf(each?.[key]), 0);
    return (
      <UsagePlots resource="pods" {...{ name, namespace }} cpuLimit={sum('cpu') * 1000} memoryLimit={sum('memory')} />
    );
  }
  const { allocatable = {} } = (object as NodeObject).status ?? {};
  return (
    <UsagePlots
      resource="nodes"
      name={name}
      cpuLimit={amountOf(allocatable['cpu']) * 1000}
      memoryLimit={amountOf(allocatable['memory'])}
    />
  );
}
