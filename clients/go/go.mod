module orch.io/testcluster

go 1.21
