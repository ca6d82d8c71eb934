/** Metrics in the form of the versions before, whose own types are the same by their structure. */
import type { CrossVersionObjectReference } from '#api/autoscaling/v2/types.gen.js';
import type { LabelSelector } from '#api/meta/v1/types.gen.js';

interface Metric {
  metricName: string;
  selector?: LabelSelector;
}

interface ExternalMetric {
  metricName: string;
  metricSelector?: LabelSelector;
}

interface ResourceSource {
  name: string;
  targetAverageUtilization?: number;
  targetAverageValue?: string;
}

interface ResourceStatus {
  name: string;
  currentAverageUtilization?: number;
  currentAverageValue: string;
}

interface InContainer {
  container: string;
}

export interface OlderMetricSpec {
  type: string;
  object?: Metric & { target: CrossVersionObjectReference; targetValue: string; averageValue?: string };
  external?: ExternalMetric & { targetValue?: string; targetAverageValue?: string };
  pods?: Metric & { targetAverageValue: string };
  resource?: ResourceSource;
  containerResource?: ResourceSource & InContainer;
}

export interface OlderMetricStatus {
  type: string;
  object?: Metric & { target: CrossVersionObjectReference; currentValue: string; averageValue?: string };
  external?: ExternalMetric & { currentValue: string; currentAverageValue?: string };
  pods?: Metric & { currentAverageValue: string };
  resource?: ResourceStatus;
  containerResource?: ResourceStatus & InContainer;
}
