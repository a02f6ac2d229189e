# The commands of the README. Each sets up what it needs and may be run again.
.DEFAULT_GOAL := help
VENV := .venv/bin

.PHONY: help
help: ## Show the commands
	@grep -E '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

.PHONY: setup
setup: ## Install Debian packages (as root) and the locked Python environment
	@scripts/setup-system
	@scripts/setup-python

.PHONY: setup-what-can-be
setup-what-can-be:
	@scripts/setup-system || [ $$? -eq 3 ]
	@scripts/setup-python

.PHONY: demo
demo: setup-what-can-be ## Plan, render and prove Fire-Flyer 2; raise the lab and run a job
	@scripts/demo

.PHONY: setup-test
setup-test:
	@scripts/setup-system test
	@scripts/setup-python
	@scripts/setup-stack
	@scripts/setup-pulumi test

.PHONY: test
test: setup-test lint ## Lint, unit tests, real software, every role in containers, the lab
	$(VENV)/python -m pytest -q -n auto tests/unit tests/errors src
	cd stack/hfreduce && ../../$(VENV)/mypy --python-executable ../../.venv-stack/bin/python
	cd stack/haiscale && ../../$(VENV)/mypy --python-executable ../../.venv-stack/bin/python
	cd stack/hfreduce && ../../.venv-stack/bin/python -m pytest -q -n 2 --dist worksteal
	cd stack/haiscale && ../../.venv-stack/bin/python -m pytest -q -n 2 --dist worksteal
	.venv-pulumi/bin/python -m pytest -q -n auto --dist loadfile tests/replica pulumi/infra
	$(VENV)/python -m pytest -q -n auto --dist loadfile tests/prove tests/report
	$(VENV)/python -m tests.images.molecule
	$(VENV)/python -m pytest -q tests/lab

.PHONY: test-full
test-full: test bench ## test, and what is slow or needs a quiet machine
	FIREFLYER_PROOFS=200 $(VENV)/python -m pytest -q tests/prove/test_any_intent.py
	$(VENV)/python -m tests.images.molecule --plain
	FIREFLYER_TEST_SYSTEM=debian13 $(VENV)/python -m tests.images.molecule
	$(VENV)/python -m pytest -q tests/replica_lab
	.venv-pulumi/bin/python -m tests.mutations_replica
	cd stack/hfreduce && ../../.venv-stack/bin/python -m pytest -q -m full
	cd stack/hfreduce && ../../.venv-stack/bin/python tests/sanitize.py

.PHONY: mutate
mutate: setup-test ## Edit every role, ten times each, and see whether its scenario notices: hours
	$(VENV)/python -m tests.mutations_roles

.PHONY: bench
bench: setup ## Measure; prints figures, asserts nothing
	$(VENV)/python -m tests.bench.render
	$(VENV)/python -m tests.bench.peers
	$(VENV)/python -m tests.report
	@scripts/setup-stack
	$(VENV)/python -m tests.bench.allreduce
	$(VENV)/python -m tests.bench.ddp

.PHONY: lint
lint: setup-what-can-be ## Everything that reads the code without running it
	$(VENV)/ruff check .
	$(VENV)/ruff format --check .
	$(VENV)/mypy
	cd pulumi && ../$(VENV)/mypy --config-file ../pyproject.toml infra __main__.py
	$(VENV)/yamllint --strict .
	$(VENV)/j2lint templates roles
	PATH="$(CURDIR)/$(VENV):$$PATH" $(VENV)/ansible-lint

.PHONY: lab
lab: setup ## Raise the lab cluster of containers and apply playbooks/site.yml
	$(VENV)/python -m tests.lab up

.PHONY: lab-down
lab-down: ## Remove the lab: its containers, networks and files
	$(VENV)/python -m tests.lab down

# A replica in a cloud. STACK names pulumi/Pulumi.<stack>.yaml; docs/replica.md says what it takes.
REPLICA = cd pulumi && ../.venv-pulumi/bin/python -m infra.operate

.PHONY: setup-replica
setup-replica:
	@scripts/setup-system || [ $$? -eq 3 ]
	@scripts/setup-python
	@scripts/setup-pulumi

.PHONY: replica-plan
replica-plan: setup-replica ## Show a cloud replica, its price, and what the provider says (STACK=)
	@$(REPLICA) plan "$(STACK)" $(ARGS)

.PHONY: replica-rights
replica-rights: setup-replica ## Print what raising a cloud replica takes of rights, as a policy (STACK=)
	@$(REPLICA) rights "$(STACK)" $(ARGS)

.PHONY: replica-up
replica-up: setup-replica ## Raise a cloud replica once every check passed (STACK=)
	@$(REPLICA) up "$(STACK)" $(ARGS)

.PHONY: replica-down
replica-down: setup-replica ## Remove a cloud replica, half made or whole (STACK=)
	@$(REPLICA) down "$(STACK)" $(ARGS) $(if $(UNLOCK),--unlock)

.PHONY: clean
clean: lab-down ## Remove the lab, and everything that was built
	rm -rf build stack/*/build .venv-stack .venv-pulumi .cache .mypy_cache .pytest_cache .ruff_cache .hypothesis .ansible
