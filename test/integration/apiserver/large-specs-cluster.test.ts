import t from 'tap';
import { kubernetesDialect } from '#apimachinery/dialect.js';
import { clusterCases } from '#test/integration/apiserver/resources/cluster.js';
import { testLargeSpecs } from '#test/integration/apiserver/resources/repetition.js';

testLargeSpecs(t, clusterCases, kubernetesDialect);
