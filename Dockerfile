# exparity with what is locked, and nothing resolved: docker build --tag exparity:0.1.0 .
# Where the package index has a CPU build of torch, that is taken, else the CUDA one (see .ci/environment).
FROM python:3.11 AS build
WORKDIR /checkout
COPY . .
RUN make VENV=/opt/exparity /opt/exparity/.locked \
 && /opt/exparity/bin/python -m pip install --no-deps --no-build-isolation . \
 && /opt/exparity/bin/python -m pip check

FROM python:3.11-slim
COPY --from=build /opt/exparity /opt/exparity
ENV PATH=/opt/exparity/bin:$PATH
WORKDIR /study
CMD ["exparity", "--help"]
