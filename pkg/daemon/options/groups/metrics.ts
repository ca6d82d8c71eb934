/** Options of the metrics endpoint. */
import type { OptionTable, OptionValues } from '#daemon/options/option.js';
import type { Rule } from '#daemon/options/validate.js';

const section = 'Metrics';

export const metricsOptions = {
  'allow-metric-labels': {
    type: 'map',
    quotedPairs: true,
    section,
    meaning: 'Allowed values of a label: MetricName,LabelName=value,value. Others are reported as "unexpected".',
  },
  'disabled-metrics': {
    type: 'strings',
    section,
    meaning: 'Fully qualified names of metrics that are not reported; wins over showing hidden ones.',
  },
  'show-hidden-metrics-for-version': {
    type: 'string',
    section,
    meaning: 'Previous minor version, major.minor, whose hidden metrics are shown.',
  },
} as const satisfies OptionTable;

export type MetricsValues = OptionValues<typeof metricsOptions>;

export const metricsRules: Rule<MetricsValues> = (values) => [...versionErrors(values), ...labelErrors(values)];

const form = '`metricName:labelName=labelValue, labelValue,...`';

const labelErrors = (values: MetricsValues): string[] =>
  Object.keys(values['allow-metric-labels'])
    .filter((key) => !/^[a-zA-Z_:][\w:]*,[a-zA-Z_]\w*$/.test(key))
    .slice(0, 1)
    .map(() => `--allow-metric-labels must has a list of kv pair with format ${form}`);

const versionErrors = (values: MetricsValues): string[] => {
  const version = values['show-hidden-metrics-for-version'];
  if (version === undefined || version === '' || version === '1.23') return [];
  return [
    "--show-hidden-metrics-for-version must be omitted or have the value '1.23'. Only the previous minor version is allowed",
  ];
};
