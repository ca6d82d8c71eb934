/**
 * Definitions of ServiceMonitor and PrometheusRule with the fields that charts/orch uses, with the types of the operator
 * (release 0.58): a field with another name or type is not stored.
 */
export const monitoringDefinitions = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: { name: servicemonitors.monitoring.coreos.com }
spec:
  group: monitoring.coreos.com
  scope: Namespaced
  names: { plural: servicemonitors, singular: servicemonitor, kind: ServiceMonitor, listKind: ServiceMonitorList }
  versions:
    - name: v1
      served: true
      storage: true
      schema:
        openAPIV3Schema:
          type: object
          required: [spec]
          properties:
            spec:
              type: object
              required: [endpoints, selector]
              properties:
                selector: { type: object, properties: { matchLabels: { type: object, additionalProperties: { type: string } } } }
                namespaceSelector: { type: object, properties: { matchNames: { type: array, items: { type: string } } } }
                endpoints:
                  type: array
                  items:
                    type: object
                    properties:
                      port: { type: string }
                      interval: { type: string, pattern: "^(0|([0-9]+(ms|s|m|h|d|w|y))+)$" }
                      scrapeTimeout: { type: string, pattern: "^(0|([0-9]+(ms|s|m|h|d|w|y))+)$" }
                      scheme: { type: string }
                      path: { type: string }
                      honorLabels: { type: boolean }
                      honorTimestamps: { type: boolean }
                      tlsConfig:
                        type: object
                        properties:
                          insecureSkipVerify: { type: boolean }
                          serverName: { type: string }
                          ca: { type: object, properties: { secret: &key { type: object, required: [key], properties: { name: { type: string }, key: { type: string } } } } }
                          cert: { type: object, properties: { secret: *key } }
                          keySecret: *key
                      relabelings:
                        type: array
                        items: &relabeling { type: object, properties: { sourceLabels: { type: array, items: { type: string } }, targetLabel: { type: string }, replacement: { type: string }, action: { type: string }, regex: { type: string } } }
                      metricRelabelings: { type: array, items: *relabeling }
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: { name: prometheusrules.monitoring.coreos.com }
spec:
  group: monitoring.coreos.com
  scope: Namespaced
  names: { plural: prometheusrules, singular: prometheusrule, kind: PrometheusRule, listKind: PrometheusRuleList }
  versions:
    - name: v1
      served: true
      storage: true
      schema:
        openAPIV3Schema:
          type: object
          required: [spec]
          properties:
            spec:
              type: object
              properties:
                groups:
                  type: array
                  x-kubernetes-list-type: map
                  x-kubernetes-list-map-keys: [name]
                  items:
                    type: object
                    required: [name, rules]
                    properties:
                      name: { type: string }
                      interval: { type: string }
                      rules:
                        type: array
                        items:
                          type: object
                          required: [expr]
                          properties:
                            alert: { type: string }
                            record: { type: string }
                            expr: { anyOf: [{ type: integer }, { type: string }], x-kubernetes-int-or-string: true }
                            for: { type: string }
                            labels: &strings { type: object, additionalProperties: { type: string } }
                            annotations: *strings
`;
